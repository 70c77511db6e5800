//! No file names a folder of somebody's machine.
//!
//! Code that needs a folder for a while asks for one; it must not know where that is.

use super::rule::{Breach, Rule};

/// Folders at the root that differ from machine to machine.
const FOLDERS: [&str; 5] = ["home", "root", "tmp", "Users", "work"];

const MACHINE: Rule = Rule {
    name: "machine",
    cure: "name it relative to the root, or make a folder with `std::env::temp_dir` or tempfile",
    exceptions: &[],
    find: |source| {
        let lines = source.text.lines().enumerate();
        let named = lines.filter_map(|(at, line)| Some((at, FOLDERS.iter().find(|folder| names(line, folder))?)));
        named.map(|(at, folder)| Breach::new(at + 1, format!("a path below `{folder}` at the root"))).collect()
    },
};

/// Whether an absolute path below the folder stands in the line: one that no other path goes before.
fn names(line: &str, folder: &str) -> bool {
    let path = format!("/{folder}/");
    line.match_indices(&path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|sign| sign.is_alphanumeric() || "._-}~".contains(sign))
    })
}

#[test]
fn no_file_names_a_folder_of_this_machine() {
    MACHINE.check();
}

#[test]
fn an_absolute_path_is_found_and_a_relative_one_is_not() {
    for folder in FOLDERS {
        assert_eq!(MACHINE.lines("README.md", &format!("see\n`/{folder}/me/idem`")), [2]);
        assert_eq!(MACHINE.lines("README.md", &format!("sqlite:///{folder}/idem.db")), [1]);
        assert!(MACHINE.lines("README.md", &format!("target/{folder}/idem.db")).is_empty());
    }
}
