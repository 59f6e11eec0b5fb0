//! Every fix of every report in `tests/cases`: each alternative applies, adds no syntax error, and takes its
//! diagnostic away. The programs were written for the rules, not for the fixes.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::fix::{Fixer, apply};
use analysis::{FileId, Options, Package, Profile, SourceFile, check};

fn files_under(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_under(&path));
        } else if path.extension().is_some_and(|e| e == "mty") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The files of a case with their modules, and how it is to be checked (see tests/cases/README.md).
struct Program {
    name: Option<String>,
    options: Options,
    files: Vec<(Vec<String>, String)>,
}

impl Program {
    fn read(text: &str) -> Self {
        let mut program = Self {
            name: None,
            options: Options::default(),
            files: vec![(Vec::new(), String::new())],
        };
        for line in text.split_inclusive('\n') {
            let directive = line.strip_prefix("//#").unwrap_or_default();
            match directive.split_whitespace().collect::<Vec<_>>()[..] {
                ["module", path] => {
                    let module = path.split('.').map(str::to_owned).collect();
                    program.files.push((module, String::new()));
                }
                ["package", name] => program.name = Some(name.to_owned()),
                ["profile", "core"] => program.options.profile = Profile::Core,
                ["strict-names"] => program.options.strict_names = true,
                _ => {}
            }
            program.files.last_mut().unwrap().1.push_str(line);
        }
        program
    }

    fn package(&self) -> Package {
        let files = self
            .files
            .iter()
            .enumerate()
            .map(|(i, (module, text))| SourceFile {
                path: format!("file{i}.mty"),
                module: module.clone(),
                parse: Arc::new(syntax::parse(text.as_str())),
            });
        Package {
            name: self.name.clone(),
            files: files.collect(),
        }
    }

    /// Reports of a code in a file, and hard syntax errors of that file.
    fn count(&self, code: u16, file: FileId) -> (usize, usize) {
        let package = self.package();
        let found = check(&package, &self.options).unwrap().diagnostics;
        let of_code = found
            .iter()
            .filter(|d| d.code.number() == code && d.file == file);
        let errors = &package.files[file.index()].parse.errors;
        (
            of_code.count(),
            errors.iter().filter(|e| e.is_hard()).count(),
        )
    }
}

#[test]
fn fixes_of_the_cases_take_their_diagnostics_away() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut faults = Vec::new();
    let mut tried: BTreeMap<u16, usize> = BTreeMap::new();
    for path in files_under(&root) {
        let mut program = Program::read(&fs::read_to_string(&path).unwrap());
        let package = program.package();
        let fixer = Fixer::new(&package);
        for diagnostic in check(&package, &program.options).unwrap().diagnostics {
            let Some(fix) = fixer.fix(&diagnostic) else {
                continue;
            };
            let (code, at) = (diagnostic.code.number(), diagnostic.file.index());
            let before = program.count(code, diagnostic.file);
            for alternative in &fix.alternatives {
                *tried.entry(code).or_default() += 1;
                let old = program.files[at].1.clone();
                match apply(&alternative.diff, &old) {
                    Err(error) => faults.push(format!("{}: {error}", path.display())),
                    Ok(new) => {
                        program.files[at].1 = new;
                        let after = program.count(code, diagnostic.file);
                        program.files[at].1 = old;
                        if after.0 >= before.0 || after.1 > before.1 {
                            faults.push(format!(
                                "{} MT{code:04} {} ({}): {before:?} became {after:?}\n{}",
                                path.strip_prefix(&root).unwrap().display(),
                                alternative.label,
                                alternative.confidence.value(),
                                alternative.diff
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(
        tried.len() > 60,
        "only {} codes had fixes: {tried:?}",
        tried.len()
    );
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}
