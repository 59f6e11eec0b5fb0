//! Checks files, each on its own, and prints the reports; a tool for working on the rules.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

fn main() {
    for path in std::env::args().skip(1) {
        let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
        let package = analysis::Package::single(path.clone(), &text);
        let start = std::time::Instant::now();
        let found = analysis::check(&package, &analysis::Options::default()).unwrap();
        let spent = start.elapsed();
        for d in &found.diagnostics {
            let range = package.files[0].parse.file_range(d.range);
            let at = range.start as usize;
            let line = text[..at].matches('\n').count() + 1;
            let part: String = text
                .get(at..range.end as usize)
                .unwrap_or("?")
                .chars()
                .take(60)
                .collect();
            println!(
                "{path}:{line} {} {:?} {}   [{part}] {:?}",
                d.code, d.level, d.title, d.notes
            );
        }
        if text.lines().count() > 2000 {
            println!("{path}: {} lines, check {spent:?}", text.lines().count());
        }
    }
}
