//! `magi-code schema`: what the linked methods and events look like, as JSON Schema or as the reference page.
//! Both are rendered elsewhere.

use host::transport::Stdio;

use crate::program::{Run, misuse, print};

/// Print the JSON Schema of every linked method and event, or the reference page
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code schema local-agent
  magi-code schema application-service --markdown

Exit status: 0 it is printed, 1 it could not be, 2 the command line is wrong or no such dialect is linked.")]
pub(crate) struct Schema {
    /// `local-agent` or `application-service`
    dialect: String,
    /// The reference page, in Markdown
    #[arg(long)]
    markdown: bool,
}

impl Run for Schema {
    const NAME: &'static str = "schema";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let Self { dialect, markdown } = self;
        let registry = host::Registry::collect()?;
        let linked = registry.dialects();
        let Some(rules) = linked.iter().find(|rules| rules.name == dialect) else {
            if dialect == "mty-agent" {
                return Ok(misuse::<Self>(
                    "mty-agent is the other binary's: mty schema",
                ));
            }
            let names: Vec<&str> = linked.iter().map(|rules| rules.name).collect();
            let names = names.join(", ");
            return Ok(misuse::<Self>(format!(
                "no dialect `{dialect}` in this build; it serves {names}"
            )));
        };
        let command = format!("magi-code schema {dialect} --markdown");
        let text = host::schema::render(&registry, rules, markdown, &command);
        print(stdio, &text)
    }
}
