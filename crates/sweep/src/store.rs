// SPDX-License-Identifier: GPL-2.0-or-later
//! Store of a sweep: a SQLite file with the points of its plan and the results of completed points.
//!
//! A result is written in one transaction, and a point is complete if it has a result. Whenever a process
//! dies, every point is therefore either complete or not started. Only one process at a time can open the
//! store, because of SQLite's own lock, which ends with the process. Each result has a checksum, so that a
//! change by the storage device is detected.

use super::PointResult;
use super::plan::SweepPoint;
use fairlab_workload::message::Message;
use fairlab_workload::sha256;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// SQLite application ID of a store: `fair` in ASCII.
const APPLICATION: i32 = 0x6661_6972;
/// Version of the tables, and of the metrics in them.
const VERSION: i32 = 2;

const TABLES: &str = "
CREATE TABLE points (id TEXT PRIMARY KEY, number INTEGER NOT NULL, settings TEXT NOT NULL, seed INTEGER NOT NULL,
    in_plan INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE results (id TEXT PRIMARY KEY REFERENCES points (id), told TEXT NOT NULL, is_failure INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// Failure of an operation on a store. The fields of each kind begin with the name of the file.
#[derive(Debug)]
pub enum StoreError {
    /// Another process has opened the store.
    InUse(String),
    /// The file is not a store, or is one of another version. The second field is the reason.
    Foreign(String, String),
    /// The store is damaged, but part of it may be readable. The second field is the reason.
    Damaged(String, String),
    /// The store is damaged, and no point can be read. The second field is the reason.
    Lost(String, String),
    /// The device is full, or the file cannot be written. The other fields are reason and remedy.
    Unwritable(String, String, &'static str),
    /// The file cannot be opened or created. The second field is the reason.
    Unopened(String, String),
    /// Two stores have different results of a point. The other fields are the point and the file of the second store.
    Conflict(String, String, String),
}

impl StoreError {
    /// Returns the message of the error.
    pub fn message(&self) -> Message {
        let about = |file: &String, text: String, help: String| Message::in_file(file, text).with_help(help);
        match self {
            Self::InUse(file) => about(
                file,
                "another process uses this store".to_owned(),
                "wait for it, or give each process its own: --store FILE --shard i/N, and then `fairlab sweep merge`"
                    .to_owned(),
            ),
            Self::Foreign(file, reason) => about(
                file,
                format!("is not the store of a sweep: {reason}"),
                "give --store a file that does not exist yet".to_owned(),
            ),
            Self::Damaged(file, reason) => about(
                file,
                format!("the store is damaged: {reason}"),
                format!(
                    "`fairlab sweep merge --salvage -o NEW {file}` saves what can be read; a sweep with --store NEW then does the rest"
                ),
            ),
            Self::Lost(file, reason) => about(
                file,
                format!("no part of this store can be read: {reason}"),
                "run the sweep again, with --store and a file that does not exist yet".to_owned(),
            ),
            Self::Unwritable(file, reason, help) => about(
                file,
                format!("cannot be written: {reason}"),
                format!("{help}. Results that were written are safe; the same command continues the sweep"),
            ),
            Self::Unopened(file, reason) => about(
                file,
                format!("cannot be opened: {reason}"),
                "give --store a file in a directory that exists and can be written".to_owned(),
            ),
            Self::Conflict(file, point, second) => about(
                file,
                format!("point {point} has another result here than in {second}"),
                "were they written by different versions of fairlab? Run the sweep again with one of them".to_owned(),
            ),
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for StoreError {}

impl From<StoreError> for Message {
    fn from(error: StoreError) -> Self {
        error.message()
    }
}

/// Result of a point, as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResult {
    /// Result of the run, or the reason for its failure.
    pub outcome: Result<PointResult, Message>,
    /// Wall-clock time of the run, in nanoseconds.
    pub wall_ns: u64,
}

/// Point of a store, with its result if it is complete.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPoint {
    /// Identity as [`identity`] returns it.
    pub id: String,
    /// Position in the plan.
    pub number: u64,
    /// Settings and seed of the point.
    pub point: SweepPoint,
    /// Whether the current plan contains the point.
    pub in_plan: bool,
    /// Result of the run; `None` for a point without a run.
    pub result: Option<StoredResult>,
}

/// Open store, locked against other processes.
#[derive(Debug)]
pub struct PointStore {
    path: PathBuf,
    connection: Connection,
}

/// Returns the identity of a point: the first half of a SHA-256 digest of its inputs, settings and seed.
pub fn identity(inputs: &str, point: &SweepPoint) -> String {
    let text = serde_json::to_string(&(inputs, &point.settings, point.seed)).expect("texts and numbers are JSON");
    sha256::hex_digest(text.as_bytes())[..32].to_owned()
}

impl PointStore {
    /// Opens a store, or creates one, and locks it against other processes.
    ///
    /// # Errors
    /// If the file cannot be opened, is no store or is damaged.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::begin(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        store.check()?;
        Ok(store)
    }

    /// Opens a store that must exist. With `may_be_damaged`, its contents are not checked.
    ///
    /// # Errors
    /// If the file cannot be opened or is no store, and without `may_be_damaged` also if it is damaged.
    pub fn open_existing(path: &Path, may_be_damaged: bool) -> Result<Self, StoreError> {
        if may_be_damaged {
            return Self::begin(path, OpenFlags::empty()).map_err(without_salvage);
        }
        let store = Self::begin(path, OpenFlags::empty())?;
        store.check()?;
        Ok(store)
    }

    fn begin(path: &Path, more: OpenFlags) -> Result<Self, StoreError> {
        let name = path.display().to_string();
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let store_error = |error: rusqlite::Error| error_from_sqlite(&name, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(store_error)?;
        // A store in use is reported immediately.
        connection.busy_timeout(Duration::ZERO).map_err(store_error)?;
        // The lock is taken now, and kept. This also rolls back the journal of a process that has died. A
        // read-only file needs no lock, because no process can write it.
        if !connection.is_readonly("main").map_err(store_error)? {
            let pragmas = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;";
            connection
                .execute_batch(pragmas)
                .and_then(|()| connection.execute_batch("BEGIN EXCLUSIVE; COMMIT"))
                .map_err(store_error)?;
        }
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let tables = || connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        let (application, version) =
            (number("application_id").map_err(store_error)?, number("user_version").map_err(store_error)?);
        if application == 0 && tables().map_err(store_error)? == 0 {
            let begin = format!(
                "BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT"
            );
            connection.execute_batch(&begin).map_err(store_error)?;
        } else if application != APPLICATION {
            return Err(StoreError::Foreign(name, "another program's database".to_owned()));
        } else if version != VERSION {
            let what = format!(
                "its results have version {version}, not {VERSION}: some metrics have another meaning; sweep into a new store"
            );
            return Err(StoreError::Foreign(name, what));
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn store_error(&self, error: &rusqlite::Error) -> StoreError {
        error_from_sqlite(&self.name(), error)
    }

    /// Checks the database with SQLite, and every result with its checksum.
    fn check(&self) -> Result<(), StoreError> {
        let answer: String = self
            .connection
            .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
            .map_err(|error| self.store_error(&error))?;
        if answer != "ok" {
            return Err(StoreError::Damaged(self.name(), answer));
        }
        self.all(false).map(drop)
    }

    /// Stores the points of a plan. Points that the plan no longer contains stay in the store, but are
    /// excluded from the plan.
    ///
    /// # Errors
    /// If the points cannot be written.
    pub fn set_plan(&mut self, points: &[(String, SweepPoint)]) -> Result<(), StoreError> {
        if self.has_plan(points)? {
            return Ok(());
        }
        let name = self.name();
        let mut plan = || {
            let transaction = self.connection.transaction()?;
            transaction.execute("UPDATE points SET in_plan = 0", [])?;
            let mut insert = transaction.prepare(
                "INSERT INTO points (id, number, settings, seed, in_plan) VALUES (?1, ?2, ?3, ?4, 1)
                 ON CONFLICT (id) DO UPDATE SET number = excluded.number, in_plan = 1",
            )?;
            for (number, (id, point)) in points.iter().enumerate() {
                let settings = serde_json::to_string(&point.settings).expect("texts are JSON");
                insert.execute(params![id, number as i64, settings, point.seed.cast_signed()])?;
            }
            drop(insert);
            transaction.commit()
        };
        plan().map_err(|error| error_from_sqlite(&name, &error))
    }

    /// Whether the store's plan already has exactly these points, so that nothing has to be written.
    fn has_plan(&self, points: &[(String, SweepPoint)]) -> Result<bool, StoreError> {
        let kept = self.points()?;
        let planned = kept.iter().filter(|kept| kept.in_plan).map(|kept| &kept.id);
        Ok(planned.eq(points.iter().map(|(id, _)| id)))
    }

    /// Writes all of these results in one transaction.
    ///
    /// # Errors
    /// If they cannot be written, or a result for one of the points already exists.
    pub fn put(&mut self, results: &[(String, StoredResult)]) -> Result<(), StoreError> {
        let name = self.name();
        let mut put = || {
            let transaction = self.connection.transaction()?;
            let mut insert = transaction
                .prepare("INSERT INTO results (id, told, is_failure, wall_ns, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut settings = transaction.prepare("SELECT settings, seed FROM points WHERE id = ?1")?;
            for (id, result) in results {
                let (text, is_failure) = text_of(&result.outcome);
                let of = settings.query_row([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
                let checksum = checksum(id, &of.0, of.1.cast_unsigned(), &text, is_failure);
                insert.execute(params![id, text, is_failure, result.wall_ns.cast_signed(), checksum])?;
            }
            drop(insert);
            drop(settings);
            transaction.commit()
        };
        put().map_err(|error| error_from_sqlite(&name, &error))
    }

    /// Deletes the results of failed points, so that they are run again. Returns their number.
    ///
    /// # Errors
    /// If the change cannot be written.
    pub fn delete_failures(&mut self) -> Result<usize, StoreError> {
        let gone = self.connection.execute("DELETE FROM results WHERE is_failure = 1", []);
        gone.map_err(|error| self.store_error(&error))
    }

    /// Returns all points with their results, in the order of the plan; points outside of the plan are last.
    ///
    /// # Errors
    /// If the points cannot be read, or one is damaged.
    pub fn points(&self) -> Result<Vec<StoredPoint>, StoreError> {
        self.all(false)
    }

    /// Returns all points of a damaged store that can still be read.
    ///
    /// # Errors
    /// If nothing can be read.
    pub fn salvage(&self) -> Result<Vec<StoredPoint>, StoreError> {
        self.all(true).map_err(without_salvage)
    }

    fn all(&self, is_salvage: bool) -> Result<Vec<StoredPoint>, StoreError> {
        let mut kept = BTreeMap::new();
        let of_points = "SELECT id, number, settings, seed, in_plan FROM points";
        let mut statement = self.connection.prepare(of_points).map_err(|error| self.store_error(&error))?;
        let mut rows = statement.query([]).map_err(|error| self.store_error(&error))?;
        let damaged = |id: &str, what: &str| StoreError::Damaged(self.name(), format!("point {id}: {what}"));
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => break,
                // SQLite returns no rows after a damaged page.
                Err(_) if is_salvage => break,
                Err(error) => return Err(self.store_error(&error)),
            };
            let read = || {
                let settings: String = row.get(2)?;
                Ok::<_, rusqlite::Error>((
                    row.get::<_, String>(0)?,
                    row.get::<_, i64>(1)?,
                    settings,
                    row.get::<_, i64>(3)?,
                    row.get::<_, bool>(4)?,
                ))
            };
            match read() {
                Ok((id, number, settings, seed, in_plan)) => match serde_json::from_str(&settings) {
                    Ok(settings) => {
                        let point = SweepPoint { settings, seed: seed.cast_unsigned() };
                        let number = number.cast_unsigned();
                        kept.insert(id.clone(), StoredPoint { id, number, point, in_plan, result: None });
                    }
                    Err(_) if is_salvage => {}
                    Err(_) => return Err(damaged(&id, "its settings cannot be read")),
                },
                Err(_) if is_salvage => {}
                Err(error) => return Err(self.store_error(&error)),
            }
        }
        self.results(&mut kept, is_salvage)?;
        let mut all: Vec<StoredPoint> = kept.into_values().collect();
        all.sort_by(|one, other| (!one.in_plan, one.number, &one.id).cmp(&(!other.in_plan, other.number, &other.id)));
        Ok(all)
    }

    fn results(&self, kept: &mut BTreeMap<String, StoredPoint>, is_salvage: bool) -> Result<(), StoreError> {
        let of_results = "SELECT id, told, is_failure, wall_ns, checksum FROM results";
        let mut statement = self.connection.prepare(of_results).map_err(|error| self.store_error(&error))?;
        let mut rows = statement.query([]).map_err(|error| self.store_error(&error))?;
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(()),
                Err(_) if is_salvage => return Ok(()),
                Err(error) => return Err(self.store_error(&error)),
            };
            let read = || {
                let of = (row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, bool>(2)?);
                Ok::<_, rusqlite::Error>((of, row.get::<_, i64>(3)?, row.get::<_, String>(4)?))
            };
            let ((id, text, is_failure), wall_ns, sum) = match read() {
                Ok(row) => row,
                Err(_) if is_salvage => continue,
                Err(error) => return Err(self.store_error(&error)),
            };
            let outcome = if is_failure {
                Some(Err(Message::from_display(&text)))
            } else {
                serde_json::from_str(&text).ok().map(Ok)
            };
            match (kept.get_mut(&id), outcome) {
                (Some(kept), Some(outcome)) if is_as_written(kept, &text, is_failure, &sum) => {
                    kept.result = Some(StoredResult { outcome, wall_ns: wall_ns.cast_unsigned() });
                }
                _ if is_salvage => {}
                _ => {
                    return Err(StoreError::Damaged(
                        self.name(),
                        format!("the result of point {id} is not what was written"),
                    ));
                }
            }
        }
    }

    /// Adds the points and results of another store. Returns the number of new results.
    ///
    /// # Errors
    /// If they cannot be written, or a point has a different result in this store.
    pub fn merge(&mut self, other: &str, points: &[StoredPoint]) -> Result<usize, StoreError> {
        let here: BTreeMap<String, StoredPoint> =
            self.points()?.into_iter().map(|kept| (kept.id.clone(), kept)).collect();
        let mut new = Vec::new();
        for kept in points {
            let known = here.get(&kept.id).and_then(|kept| kept.result.as_ref());
            match (known, &kept.result) {
                (Some(known), Some(result)) if known.outcome != result.outcome => {
                    return Err(StoreError::Conflict(other.to_owned(), kept.id.clone(), self.name()));
                }
                (None, Some(result)) => new.push((kept.id.clone(), result.clone())),
                _ => {}
            }
        }
        let name = self.name();
        let mut insert = || {
            let transaction = self.connection.transaction()?;
            for kept in points {
                let settings = serde_json::to_string(&kept.point.settings).expect("texts are JSON");
                transaction.execute(
                    "INSERT INTO points (id, number, settings, seed, in_plan) VALUES (?1, ?2, ?3, ?4, ?5)
                     ON CONFLICT (id) DO UPDATE SET in_plan = max(in_plan, excluded.in_plan)",
                    params![kept.id, kept.number.cast_signed(), settings, kept.point.seed.cast_signed(), kept.in_plan],
                )?;
            }
            transaction.commit()
        };
        insert().map_err(|error| error_from_sqlite(&name, &error))?;
        self.put(&new)?;
        Ok(new.len())
    }
}

fn text_of(outcome: &Result<PointResult, Message>) -> (String, bool) {
    match outcome {
        Ok(outcome) => (serde_json::to_string(outcome).expect("texts and numbers are JSON"), false),
        Err(error) => (error.to_string(), true),
    }
}

/// Returns the checksum of a result, which includes its point.
fn checksum(id: &str, settings: &str, seed: u64, text: &str, is_failure: bool) -> String {
    sha256::hex_digest(format!("{id} {settings} {seed} {is_failure} {text}").as_bytes())[..16].to_owned()
}

/// Returns the checksum of older results, which does not include the point's settings.
fn former_checksum(id: &str, text: &str, is_failure: bool) -> String {
    sha256::hex_digest(format!("{id} {is_failure} {text}").as_bytes())[..16].to_owned()
}

fn is_as_written(kept: &StoredPoint, text: &str, is_failure: bool, sum: &str) -> bool {
    let settings = serde_json::to_string(&kept.point.settings).expect("texts are JSON");
    checksum(&kept.id, &settings, kept.point.seed, text, is_failure) == sum
        || former_checksum(&kept.id, text, is_failure) == sum
}

/// Removes the suggestion to salvage the store from errors of the salvage itself.
fn without_salvage(error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged(name, what) => StoreError::Lost(name, what),
        other => other,
    }
}

/// Converts an SQLite error into a store error with a remedy.
fn error_from_sqlite(name: &str, error: &rusqlite::Error) -> StoreError {
    let (name, what) = (name.to_owned(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::InUse(name),
        Some(ErrorCode::NotADatabase) => StoreError::Foreign(name, what),
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged(name, what),
        Some(ErrorCode::DiskFull) => StoreError::Unwritable(name, what, "free some room on the device"),
        Some(ErrorCode::SystemIoFailure) => StoreError::Unwritable(name, what, "is the device full, or gone?"),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::Unwritable(name, what, "give --store a file in a directory that can be written")
        }
        Some(ErrorCode::CannotOpen) => StoreError::Unopened(name, what),
        _ => StoreError::Damaged(name, what),
    }
}
