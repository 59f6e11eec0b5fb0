//! Random choices that a printed seed repeats. Nothing about what is chosen.
//! No crate for it: thirty lines of a well-known generator, and no distribution but the uniform one.

/// SplitMix64: tiny, and good enough to choose moments.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A number from the environment, or `default`.
pub(crate) fn number_from(variable: &str, default: u64) -> u64 {
    std::env::var(variable).map_or(default, |text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is no number: {text}"))
    })
}

/// `MC_FAULT_SEED`, or one of this run's own.
pub(crate) fn seed() -> u64 {
    let clock = std::time::SystemTime::UNIX_EPOCH.elapsed();
    number_from(
        "MC_FAULT_SEED",
        clock.map_or(1, |time| time.as_nanos() as u64),
    )
}
