//! What a scenario leaves: a record of each of its cases, as a file that people review.
//!
//! Two runs of the same code write the same bytes, but for what stands under `times`. Must not know how a case is played.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::verdict::FailureKind;

/// The version of the file's form.
const VERSION: u32 = 1;

/// One scenario, played with one tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The form of this record: 1.
    pub version: u32,
    /// The id of the test case: tool and scenario.
    pub id: String,
    /// The tool's name.
    pub tool: String,
    /// Its side effects, as they are counted.
    pub effects: Vec<String>,
    /// What counts as one effect, in the tool's own words.
    pub counts_as: Option<String>,
    /// The scenario.
    pub scenario: String,
    /// The family of the scenario.
    pub family: String,
    /// Whether a failure of it repeats effects or misleads.
    pub critical: bool,
    /// What it proves.
    pub proves: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it was not played, or which kind of failure it is and what was seen.
    pub reason: Option<String>,
    /// The kind of failure.
    pub failure: Option<FailureKind>,
    /// Who sees to exceptions.
    pub owner: Option<String>,
    /// The cases, in order.
    pub cases: Vec<CaseRecord>,
    /// Cells of the fault matrix that mean nothing, and what else was left out, each with its reason.
    pub notes: BTreeMap<String, String>,
    /// What it came to.
    pub counts: Counts,
    /// The code's commit, where the harness can tell.
    pub commit: Option<String>,
    /// The version of this harness, which is the provider's too.
    pub provider: String,
    /// The seed of whatever was drawn.
    pub seed: u64,
    /// The command that runs it again.
    pub again: String,
    /// When it ran and how long it took; the only part that differs between two runs.
    pub times: BTreeMap<String, String>,
}

/// What came of a scenario or of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything was as it has to be.
    Passed,
    /// Something was not.
    Failed,
    /// The tool, or its fixture, has nothing that it could be played with.
    NotApplicable,
    /// The fixture leaves it out.
    Skipped,
}

/// One case, in the fields of a test-case record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseRecord {
    /// The case within its scenario.
    pub case: String,
    /// On which ledger it was played.
    pub ledger: String,
    /// The business occurrence: whose, in which scope, which of them.
    pub occurrence: String,
    /// The operation's id.
    pub operation: Option<String>,
    /// The key: the digests by which the ledger finds it.
    pub key: Vec<String>,
    /// Digest of the effect-bearing arguments.
    pub fingerprint: Option<String>,
    /// Where the operation stood before.
    pub initial_state: String,
    /// Where the fault struck.
    pub checkpoint: Option<String>,
    /// What struck.
    pub fault: Option<String>,
    /// Callers, processes, restarts.
    pub callers: String,
    /// What had to be.
    pub expected: Expected,
    /// What was.
    pub actual: Actual,
    /// What whoever came again was given to do.
    pub retry_decision: Option<String>,
    /// How an unknown outcome ended.
    pub reconciliation: Option<String>,
    /// What came of it.
    pub verdict: Verdict,
}

/// What a case has to come to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The states that the operation may go through.
    pub transitions: String,
    /// How often each effect has to have happened.
    pub effects: Option<usize>,
    /// Whether the provider's reference has to be known.
    pub reference: Option<String>,
    /// What callers have to be told, in words.
    pub answers: String,
}

/// What a case came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actual {
    /// The states that the operation went through.
    pub transitions: Vec<String>,
    /// How often each effect happened, by name, at the provider.
    pub effects: BTreeMap<String, usize>,
    /// How many requests arrived there.
    pub requests: usize,
    /// How many calls were made.
    pub calls: usize,
    /// How many attempts the ledger granted.
    pub attempts: usize,
    /// Business identifiers of what happened.
    pub objects: Vec<String>,
    /// Who was reached.
    pub recipients: Vec<String>,
    /// The provider's reference.
    pub reference: Option<String>,
    /// What callers were told, in order.
    pub answers: Vec<String>,
}

/// What cases came to, to be added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Cases played.
    pub cases: usize,
    /// Cells of the fault matrix that were played.
    pub cells: usize,
    /// Cells that there are, but for those that mean nothing.
    pub cells_of: usize,
    /// Cells that mean nothing.
    pub meaningless: usize,
    /// Processes killed.
    pub kills: usize,
    /// Calls made.
    pub calls: usize,
    /// Effects counted.
    pub effects: usize,
    /// Effects that happened once more than they were meant.
    pub duplicates: usize,
    /// Results that were there and were not given again.
    pub lost_results: usize,
    /// Operations that nobody was at and that the ledger held to be running.
    pub stuck: usize,
    /// Unknown outcomes that the tool's own way to find out settled.
    pub unknown_settled: usize,
    /// Unknown outcomes that were left for a person.
    pub unknown_left: usize,
}

impl Counts {
    /// Adds another one.
    pub fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.cells += other.cells;
        self.cells_of += other.cells_of;
        self.meaningless += other.meaningless;
        self.kills += other.kills;
        self.calls += other.calls;
        self.effects += other.effects;
        self.duplicates += other.duplicates;
        self.lost_results += other.lost_results;
        self.stuck += other.stuck;
        self.unknown_settled += other.unknown_settled;
        self.unknown_left += other.unknown_left;
    }
}

impl Record {
    /// A record without cases.
    pub(super) fn new(tool: &str, scenario: super::Scenario, seed: u64, again: String) -> Self {
        Self {
            version: VERSION,
            id: format!("{tool}/{scenario}"),
            tool: tool.to_owned(),
            effects: Vec::new(),
            counts_as: None,
            scenario: scenario.name().to_owned(),
            family: scenario.family().to_owned(),
            critical: scenario.is_critical(),
            proves: scenario.proves().to_owned(),
            verdict: Verdict::Passed,
            reason: None,
            failure: None,
            owner: None,
            cases: Vec::new(),
            notes: BTreeMap::new(),
            counts: Counts::default(),
            commit: commit(),
            provider: concat!("idem_runtime::testing::Provider ", env!("CARGO_PKG_VERSION")).to_owned(),
            seed,
            again,
            times: BTreeMap::new(),
        }
    }

    /// Writes it to where records stand, and says where that is.
    pub(super) fn write(&self, records: &Path) -> io::Result<PathBuf> {
        let folder = records.join(file_name(&self.tool));
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.json", self.scenario));
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        put(&path, &text)?;
        Ok(path)
    }
}

/// Writes a file so that whoever reads it meanwhile sees the old or the new one.
pub(super) fn put(path: &Path, text: &str) -> io::Result<()> {
    let beside = path.with_extension(format!("{}.new", std::process::id()));
    fs::write(&beside, text)?;
    fs::rename(&beside, path)
}

/// A tool's name as a folder's.
pub(super) fn file_name(tool: &str) -> String {
    tool.chars().map(|sign| if sign.is_alphanumeric() || "-_.".contains(sign) { sign } else { '_' }).collect()
}

/// `target/idem/records`, found from where this test binary stands; `IDEM_RECORDS` names another folder.
pub(super) fn folder() -> io::Result<PathBuf> {
    if let Some(folder) = env::var_os("IDEM_RECORDS") {
        return Ok(folder.into());
    }
    let binary = env::current_exe()?;
    // target/PROFILE/deps/BINARY; a doctest's stands elsewhere.
    let deps = binary.ancestors().find(|folder| folder.ends_with("deps"));
    let target = deps.and_then(Path::parent).and_then(Path::parent);
    let target = target.or_else(|| binary.parent()).map_or_else(env::temp_dir, Path::to_owned);
    Ok(target.join("idem").join("records"))
}

/// The commit that is checked out, read from files: a test needs no git.
fn commit() -> Option<String> {
    let from = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).or_else(|| env::current_dir().ok())?;
    let git = from.ancestors().map(|folder| folder.join(".git")).find(|git| git.is_dir())?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let Some(name) = head.trim().strip_prefix("ref: ") else { return Some(head.trim().to_owned()) };
    if let Ok(commit) = fs::read_to_string(git.join(name)) {
        return Some(commit.trim().to_owned());
    }
    let packed = fs::read_to_string(git.join("packed-refs")).ok()?;
    let line = packed.lines().find(|line| line.ends_with(name))?;
    Some(line.split(' ').next()?.to_owned())
}
