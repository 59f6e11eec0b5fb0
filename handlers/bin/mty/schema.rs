//! `mty schema`: what the linked ops look like, as JSON Schema or as the reference page.
//! Both are rendered elsewhere.

use host::transport::Stdio;

use crate::program::{Run, print};

/// Print the JSON Schema of every linked op, or the reference page
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  mty schema
  mty schema --markdown

Exit codes:
  0  it is printed
  1  it could not be
  2  usage")]
pub(crate) struct Schema {
    /// The reference page, in Markdown
    #[arg(long)]
    markdown: bool,
}

impl Run for Schema {
    const NAME: &'static str = "schema";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let registry = host::Registry::collect()?;
        let (rules, command) = (&mighty::RULES, "mty schema --markdown");
        let text = host::schema::render(&registry, rules, self.markdown, command);
        print(stdio, &text)
    }
}
