//! Finds import cycles among the files of a crate, and imports from a higher layer. A parent module
//! and its own child may import each other.
//!
//! A file imports the files of the modules in its paths (`crate::...`, `super::...`, `self::...`),
//! in `use` or elsewhere. Lines of a parent that declare a child (`mod`) or export names of a child
//! (`pub use`) do not count. Tests are ignored: `mod tests` at the end of a file, and files
//! declared with `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use crate::failure::{Failure, conclude};
use crate::sources::{Sources, is_word};

/// Crates with layers. Each layer is a folder; the lowest layer comes first. A file must not import
/// from a higher layer. Files outside these folders belong to the lowest layer.
const LAYERS: &[(&str, &[&str])] = &[(
    "storage",
    &["base", "records", "accounts", "observations", "maintenance"],
)];

/// Checks these crates.
pub(crate) fn check(sources: &Sources, crates: &[&str]) -> Result<String, Failure> {
    let mut breaches = Vec::new();
    for name in crates {
        let imports = find_imports(&format!("crates/{name}/src"), sources);
        // A name exported by `lib.rs` hides the file that defines it, and so can hide a cycle.
        breaches.extend(imports.exported.iter().map(|file| {
            format!("imports: {file} uses a name that lib.rs exports; import it from its module")
        }));
        if let Some((_, layers)) = LAYERS.iter().find(|(layered, _)| layered == name) {
            breaches.extend(find_upward(&imports.edges, name, layers));
        }
        let cycles = keep_cycles(remove_pairs(&imports.edges));
        if !cycles.is_empty() {
            breaches.push(format!("imports: a cycle in {name}:"));
            breaches.extend(
                cycles
                    .iter()
                    .map(|(from, to)| format!("{from} imports {to}")),
            );
        }
    }
    conclude(
        breaches,
        &format!(
            "imports: no cycles and no imports from a higher layer in {}",
            crates.join(" ")
        ),
    )
}

/// Returns a breach for each import from a higher layer.
fn find_upward(edges: &BTreeSet<(&str, &str)>, name: &str, layers: &[&str]) -> Vec<String> {
    let folder = format!("crates/{name}/src/");
    let layer = |file: &str| {
        let path = file.strip_prefix(&folder).unwrap_or(file);
        let first = path
            .split('/')
            .next()
            .unwrap_or(path)
            .trim_end_matches(".rs");
        layers.iter().position(|layer| *layer == first).unwrap_or(0)
    };
    let upward = edges.iter().filter(|(from, to)| layer(from) < layer(to));
    upward
        .map(|(from, to)| format!("imports: {from} imports {to}, which is in a higher layer"))
        .collect()
}

/// Removes the import of a parent by its own child if the parent also imports the child.
fn remove_pairs<'a>(edges: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<(&'a str, &'a str)> {
    let is_pair = |(from, to): &(&str, &str)| is_parent(to, from) && edges.contains(&(*to, *from));
    edges
        .iter()
        .filter(|edge| !is_pair(edge))
        .copied()
        .collect()
}

/// Whether `file` is the parent module of `other`, such as `lists.rs` and `lists/parse.rs`.
fn is_parent(file: &str, other: &str) -> bool {
    other
        .rsplit_once('/')
        .is_some_and(|(folder, _)| file.strip_suffix(".rs") == Some(folder))
}

/// The imports among the files of a crate.
struct Imports<'a> {
    /// Pairs of a file and a file that it imports.
    edges: BTreeSet<(&'a str, &'a str)>,
    /// The files that use a name exported by `lib.rs`.
    exported: BTreeSet<&'a str>,
}

/// The path of a module, such as `lists::parse`. The path of the crate root is empty.
type ModulePath<'a> = Vec<&'a str>;

fn find_imports<'a>(folder: &str, sources: &'a Sources) -> Imports<'a> {
    let files = sources.below(&[folder], ".rs");
    let modules: BTreeMap<ModulePath<'_>, &str> = files
        .iter()
        .map(|(file, _)| (module_path(file, folder), *file))
        .collect();
    let mut codes = Vec::new();
    let mut tests = BTreeSet::new();
    for (file, text) in &files {
        let module = module_path(file, folder);
        let (code, tested) = split_tests(text);
        tests.extend(
            tested
                .into_iter()
                .map(|name| [module.as_slice(), &[name]].concat()),
        );
        codes.push((*file, module, code));
    }
    let mut imports = Imports {
        edges: BTreeSet::new(),
        exported: BTreeSet::new(),
    };
    for (file, module, code) in &codes {
        if module.is_empty() || tests.iter().any(|test| module.starts_with(test)) {
            continue;
        }
        for path in find_paths(code) {
            if let ["crate", name, ..] = path.as_slice()
                && name.starts_with(|c: char| c.is_ascii_uppercase())
            {
                imports.exported.insert(file);
                continue;
            }
            let mut target = resolve(&path, module);
            while !modules.contains_key(&target) && target.pop().is_some() {}
            imports.edges.extend(
                modules
                    .get(&target)
                    .filter(|to| *to != file)
                    .map(|to| (*file, *to)),
            );
        }
    }
    imports
}

/// Returns the path of the module in a file: `lists/parse.rs` is `lists::parse`.
fn module_path<'a>(file: &'a str, folder: &str) -> ModulePath<'a> {
    let name = file
        .strip_prefix(folder)
        .unwrap_or(file)
        .trim_start_matches('/')
        .trim_end_matches(".rs");
    if ["lib", "main"].contains(&name) {
        Vec::new()
    } else {
        name.split('/').collect()
    }
}

/// Returns the code of a file without comments, exports and tests, and the names of the modules
/// that the file declares for tests.
fn split_tests(text: &str) -> (String, Vec<&str>) {
    let mut code = String::new();
    let mut tests = Vec::new();
    let mut is_test = false;
    let mut exports = false;
    for line in text.lines() {
        if line.starts_with("#[cfg(test)]") {
            is_test = true;
            continue;
        }
        if let Some(declared) = line.strip_prefix("mod ").filter(|_| is_test) {
            match declared.split_once(';') {
                Some((name, _)) => tests.push(name),
                None => break,
            }
        }
        is_test = false;
        let line = line.split_once("//").map_or(line, |(line, _)| line);
        let begins_export = line
            .strip_prefix("pub use ")
            .is_some_and(|path| !path.starts_with("crate::") && !path.starts_with("super::"));
        if begins_export || exports {
            exports = !line.contains(';');
            continue;
        }
        code.push_str(line);
        code.push('\n');
    }
    (code, tests)
}

/// Returns the paths that begin with `crate`, `super` or `self`. A group in braces gives one path
/// for each of its names.
fn find_paths(code: &str) -> Vec<Vec<&str>> {
    let tokens = split_tokens(code);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let begins =
            ["crate", "super", "self"].contains(token) && tokens.get(at + 1) == Some(&"::");
        let continues = at > 0 && tokens.get(at - 1) == Some(&"::");
        if begins && !continues {
            follow_path(
                &mut tokens.iter().skip(at).copied().peekable(),
                Vec::new(),
                &mut found,
            );
        }
    }
    found
}

/// Splits code into names, `::`, and single other characters. White space is dropped.
fn split_tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("::") {
            2
        } else if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

fn follow_path<'a, I>(
    tokens: &mut Peekable<I>,
    mut path: Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) where
    I: Iterator<Item = &'a str>,
{
    while let Some(name) = tokens.next_if(|token| token.starts_with(is_word)) {
        path.push(name);
        if tokens.next_if_eq(&"::").is_none() {
            break;
        }
        if tokens.next_if_eq(&"{").is_some() {
            while tokens.peek().is_some() && tokens.next_if_eq(&"}").is_none() {
                follow_path(tokens, path.clone(), found);
                // Skips `as Name` and `*`.
                while tokens
                    .next_if(|token| !["}", ","].contains(token))
                    .is_some()
                {}
                tokens.next_if_eq(&",");
            }
            return;
        }
    }
    found.push(path);
}

/// Resolves a path in a module to the path from the crate root.
fn resolve<'a>(path: &[&'a str], module: &[&'a str]) -> ModulePath<'a> {
    let (first, names) = path.split_first().unwrap_or((&"", &[]));
    let supers = path.iter().take_while(|name| **name == "super").count();
    let mut resolved = match *first {
        "crate" => names.to_vec(),
        "self" => [module, names].concat(),
        _ => {
            let above = module.iter().take(module.len().saturating_sub(supers));
            above.chain(path.iter().skip(supers)).copied().collect()
        }
    };
    if resolved.last() == Some(&"self") {
        resolved.pop();
    }
    resolved
}

/// Keeps only imports that can be part of a cycle. Files that import no other file, or that no
/// other file imports, are removed repeatedly.
fn keep_cycles<'a>(mut edges: BTreeSet<(&'a str, &'a str)>) -> BTreeSet<(&'a str, &'a str)> {
    loop {
        let before = edges.len();
        let importers: BTreeSet<&str> = edges.iter().map(|(from, _)| *from).collect();
        let imported: BTreeSet<&str> = edges.iter().map(|(_, to)| *to).collect();
        edges.retain(|(from, to)| importers.contains(to) && imported.contains(from));
        if edges.len() == before {
            return edges;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
        check(&Sources::from(files), &["c"]).map_or_else(|failure| failure.0, |_| Vec::new())
    }

    #[test]
    fn imports_in_one_direction_pass() {
        let files = [
            ("crates/c/src/lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
            (
                "crates/c/src/a.rs",
                "use crate::b::{self, B as Other};\n// use crate::c::C;\n",
            ),
            (
                "crates/c/src/b.rs",
                "mod inner;\npub use self::inner::Inner;\n",
            ),
            ("crates/c/src/b/inner.rs", "use std::fmt;\n"),
        ];
        assert_eq!(breaches(files), [] as [&str; 0]);
    }

    #[test]
    fn cycle_is_listed_without_other_files() {
        let files = [
            ("crates/c/src/lib.rs", ""),
            (
                "crates/c/src/a.rs",
                "use super::b::B;\nuse crate::last::L;\n",
            ),
            ("crates/c/src/b.rs", "fn b() { crate::b::inner::run() }\n"),
            (
                "crates/c/src/b/inner.rs",
                "use crate::{\n    a::{A, C},\n    last,\n};\n",
            ),
            ("crates/c/src/last.rs", ""),
        ];
        let expected = [
            "imports: a cycle in c:",
            "crates/c/src/a.rs imports crates/c/src/b.rs",
            "crates/c/src/b.rs imports crates/c/src/b/inner.rs",
            "crates/c/src/b/inner.rs imports crates/c/src/a.rs",
        ];
        assert_eq!(breaches(files), expected);
    }

    #[test]
    fn only_parent_and_child_may_import_each_other() {
        let parent = ("crates/c/src/b.rs", "mod inner;\nuse self::inner::Inner;\n");
        let child = ("crates/c/src/b/inner.rs", "use super::B;\n");
        assert_eq!(
            breaches([("crates/c/src/lib.rs", ""), parent, child]),
            [""; 0]
        );
        let third = ("crates/c/src/a.rs", "use crate::b::B;\n");
        let child = (
            "crates/c/src/b/inner.rs",
            "use super::B;\nuse crate::a::A;\n",
        );
        assert_eq!(
            breaches([("crates/c/src/lib.rs", ""), parent, child, third]).len(),
            4
        );
    }

    #[test]
    fn import_of_a_higher_layer_is_a_breach() {
        let check = |file, text| {
            let files = [
                ("crates/storage/src/lib.rs", ""),
                ("crates/storage/src/session.rs", ""),
                ("crates/storage/src/records/trainees.rs", ""),
                ("crates/storage/src/maintenance/copy.rs", ""),
                (file, text),
            ];
            super::check(&Sources::from(files), &["storage"])
                .map_or_else(|failure| failure.0, |_| Vec::new())
        };
        let down = "use crate::session::Session;\nuse crate::records::trainees::Trainees;\n";
        assert_eq!(check("crates/storage/src/accounts/users.rs", down), [""; 0]);
        let expected = "imports: crates/storage/src/accounts/users.rs imports crates/storage/src/maintenance/copy.rs, which is in a \
                        higher layer";
        assert_eq!(
            check(
                "crates/storage/src/accounts/users.rs",
                "use crate::maintenance::copy::Copy;\n"
            ),
            [expected]
        );
        assert_eq!(check("crates/storage/src/error.rs", down).len(), 1);
    }

    #[test]
    fn import_of_name_exported_by_lib_is_a_breach() {
        let files = [
            ("crates/c/src/lib.rs", "pub use a::A;\n"),
            ("crates/c/src/b.rs", "use crate::A;\n"),
        ];
        let expected = [
            "imports: crates/c/src/b.rs uses a name that lib.rs exports; import it from its module",
        ];
        assert_eq!(breaches(files), expected);
    }

    #[test]
    fn tests_may_import_anything() {
        let files = [
            ("crates/c/src/lib.rs", "#[cfg(test)]\nmod samples;\n"),
            ("crates/c/src/a.rs", "use crate::b::B;\n"),
            (
                "crates/c/src/b.rs",
                "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
            ),
            ("crates/c/src/samples.rs", "use crate::a::A;\n"),
            ("crates/c/src/samples/more.rs", "use crate::b::B;\n"),
        ];
        assert_eq!(breaches(files), [] as [&str; 0]);
    }

    #[test]
    fn paths_in_nested_groups_are_found() {
        let found = find_paths(
            "use super::super::{a::{B, self}, c as d, e::*}; let x = self::f(1); self.g; pub(crate) h",
        );
        let expected: [&[&str]; 5] = [
            &["super", "super", "a", "B"],
            &["super", "super", "a", "self"],
            &["super", "super", "c"],
            &["super", "super", "e"],
            &["self", "f"],
        ];
        assert_eq!(found, expected);
        assert_eq!(
            resolve(&["super", "super", "a", "self"], &["x", "y", "z"]),
            ["x", "a"]
        );
        assert_eq!(resolve(&["self", "f"], &["x"]), ["x", "f"]);
    }
}
