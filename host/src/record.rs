//! Record and replay of mty-agent exchanges.
