//! What Code Mode costs: a snippet from its start to its end, and a call from one beside the tool itself.
//! `cargo bench -p code --features engine`
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use code as _;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;
use tools::{Caller, Calling, Context, Success, ToolSet, ToolSpec};

/// Calls that cost nothing.
struct Nothing;

impl Caller for Nothing {
    fn tools(&self) -> Vec<Arc<ToolSpec>> {
        vec![Arc::new(ToolSpec::reading("nothing", "", json!({})))]
    }

    fn call(&self, _: String, _: Value) -> Calling {
        Box::pin(async { Success::text(String::new(), String::new()).into() })
    }
}

fn snippets(criterion: &mut Criterion) {
    let mut context = Context::new(std::env::temp_dir(), Vec::new());
    context.guard = Guard::program(env!("CARGO_BIN_EXE_code-test-process"));
    let tools = ToolSet::registered(context).unwrap();
    let runtime = Runtime::new().unwrap();
    for (name, source) in [
        ("a snippet", "return 1"),
        (
            "a snippet with 1000 calls, one after another",
            "for (let i = 0; i < 1000; i++) await tools.nothing({i})",
        ),
        (
            "a snippet with 1000 calls, side by side",
            "const all = []; for (let i = 0; i < 1000; i++) all.push(tools.nothing({i})); await Promise.all(all)",
        ),
    ] {
        let input = json!({ "source": source });
        let access = runtime.block_on(tools.access("code", &input));
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| {
                let caller: Arc<dyn Caller> = Arc::new(Nothing);
                let run = tools.run_admitted(
                    "code",
                    &input,
                    &access,
                    Some(caller),
                    CancellationToken::new(),
                );
                let outcome = runtime.block_on(run);
                assert!(!outcome.is_error, "{}", outcome.content);
            });
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).without_plots();
    targets = snippets
}
criterion_main!(benches);
