//! Finds files of a crate that import each other in a circle, and files that import one of a higher
//! layer. A parent module and its own children may know each other.
//!
//! A file imports the files of the modules that its paths name (`crate::...`, `super::...`,
//! `self::...`), in `use` or elsewhere. The lines of a parent that declare a child (`mod`) or
//! export its names (`pub use`) are no imports. Tests are left out: `mod tests` at the end of a
//! file, and files that are declared behind `#[cfg(test)]`.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use crate::failure::{Failure, conclude};
use crate::sources::{Sources, is_word};

/// The folders of a crate that are layers, the lowest first: no file imports one of a higher layer.
/// Files beside these folders belong to the lowest.
const LAYERS: &[(&str, &[&str])] = &[(
    "storage",
    &["base", "records", "accounts", "observations", "maintenance"],
)];

/// Checks these crates.
pub(crate) fn check(sources: &Sources, crates: &[&str]) -> Result<String, Failure> {
    let mut breaches = Vec::new();
    for name in crates {
        let imports = find_imports(&format!("crates/{name}/src"), sources);
        // What the top of a crate exports can be of any file, so a circle through it would not be
        // found.
        breaches.extend(imports.exported.iter().map(|file| {
            format!("imports: {file} uses a name that lib.rs exports; import it from its module")
        }));
        if let Some((_, layers)) = LAYERS.iter().find(|(of, _)| of == name) {
            breaches.extend(find_upward(&imports.edges, name, layers));
        }
        let circles = keep_circles(without_pairs(&imports.edges));
        if !circles.is_empty() {
            breaches.push(format!("imports: a circle in {name}:"));
            breaches.extend(
                circles
                    .iter()
                    .map(|(from, to)| format!("{from} imports {to}")),
            );
        }
    }
    conclude(
        breaches,
        &format!(
            "imports: no files of {} import each other in a circle, or a higher layer",
            crates.join(" ")
        ),
    )
}

/// The imports of files of a higher layer.
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

/// The imports, without that of a parent by its own child where the parent imports the child too:
/// the two may know each other.
fn without_pairs<'a>(edges: &BTreeSet<(&'a str, &'a str)>) -> BTreeSet<(&'a str, &'a str)> {
    let is_pair = |(from, to): &(&str, &str)| is_parent(to, from) && edges.contains(&(*to, *from));
    edges
        .iter()
        .filter(|edge| !is_pair(edge))
        .copied()
        .collect()
}

/// Whether a file declares the module of the other one: `lists.rs` is the parent of
/// `lists/parse.rs`.
fn is_parent(file: &str, other: &str) -> bool {
    other
        .rsplit_once('/')
        .is_some_and(|(folder, _)| file.strip_suffix(".rs") == Some(folder))
}

/// What the files of a crate import.
struct Imports<'a> {
    /// A file, and one that it imports.
    edges: BTreeSet<(&'a str, &'a str)>,
    /// The files that use a name that the top of the crate exports.
    exported: BTreeSet<&'a str>,
}

/// A path of names, such as `lists::parse`; the top of the crate has none.
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

/// The module of a file: `lists/parse.rs` is `lists::parse`.
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

/// The code of a file without comments, exports and tests, and the modules that it declares for
/// tests alone.
fn split_tests(text: &str) -> (String, Vec<&str>) {
    let mut code = String::new();
    let mut tests = Vec::new();
    let (mut is_test, mut exports) = (false, false);
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

/// The paths in a text that begin with `crate`, `super` or `self`. A group in braces gives one for
/// each of its names.
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

/// Names, `::`, and any other character that is no white space.
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
                // `as Name` and `*` add nothing.
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

/// What a path means inside a module, from the top of the crate.
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

/// The imports that are left when files that import no other, or that no other imports, are removed
/// until none is left.
fn keep_circles<'a>(mut edges: BTreeSet<(&'a str, &'a str)>) -> BTreeSet<(&'a str, &'a str)> {
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
    fn a_circle_is_listed_without_the_files_beside_it() {
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
            "imports: a circle in c:",
            "crates/c/src/a.rs imports crates/c/src/b.rs",
            "crates/c/src/b.rs imports crates/c/src/b/inner.rs",
            "crates/c/src/b/inner.rs imports crates/c/src/a.rs",
        ];
        assert_eq!(breaches(files), expected);
    }

    #[test]
    fn parent_and_child_may_know_each_other_and_no_third_file() {
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
    fn a_name_that_the_top_exports_is_a_breach() {
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
    fn paths_are_found_with_groups_inside_groups() {
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
