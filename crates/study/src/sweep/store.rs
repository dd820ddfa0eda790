// SPDX-License-Identifier: GPL-2.0-or-later
//! The store of a sweep: one SQLite file with the points of its plan and the results of those that are done.
//!
//! A result is written in one transaction, and a point is done if it has a result: so whenever a process dies, every point is either done or
//! not begun. One process at a time has the store, by SQLite's own lock, which ends with the process. Each result has a checksum, so that
//! what a device has changed is seen.

use super::PointResult;
use super::plan::SweepPoint;
use fairlab_observe::sha256;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a store's file says it is: `fair`.
const APPLICATION: i32 = 0x6661_6972;
/// The version of its tables.
const VERSION: i32 = 1;

const TABLES: &str = "
CREATE TABLE points (id TEXT PRIMARY KEY, number INTEGER NOT NULL, settings TEXT NOT NULL, seed INTEGER NOT NULL,
    in_plan INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE results (id TEXT PRIMARY KEY REFERENCES points (id), told TEXT NOT NULL, is_failure INTEGER NOT NULL,
    wall_ns INTEGER NOT NULL, checksum TEXT NOT NULL) STRICT, WITHOUT ROWID;
";

/// What can go wrong with a store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process has it.
    #[error(
        "{0}: another process has this store\nhelp: wait for it, or give each process its own: --store FILE --shard i/N, and then `fairlab sweep merge`"
    )]
    InUse(String),
    /// It is something else.
    #[error("{0}: is not the store of a sweep: {1}\nhelp: give --store a file that is not there yet")]
    Foreign(String, String),
    /// It is damaged.
    #[error(
        "{0}: the store is damaged: {1}\nhelp: `fairlab sweep merge --salvage -o NEW {0}` saves what can be read; a sweep with --store NEW then does the rest"
    )]
    Damaged(String, String),
    /// It is damaged, and nothing of it can be saved.
    #[error(
        "{0}: nothing of this store can be read any more: {1}\nhelp: run the sweep anew, with --store and a file that is not there yet"
    )]
    Lost(String, String),
    /// There is no room, or it may not be written.
    #[error("{0}: cannot be written: {1}\nhelp: {2}. Results that were written are safe; the same command goes on")]
    Unwritable(String, String, &'static str),
    /// It cannot be opened.
    #[error("{0}: cannot be opened: {1}\nhelp: give --store a file in a directory that exists and can be written")]
    Unopened(String, String),
    /// Two stores have different results of one point.
    #[error(
        "{0}: point {1} has another result here than in {2}\nhelp: were they written by different versions of fairlab? Run the sweep anew with one of them"
    )]
    Conflict(String, String, String),
}

/// A result, as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredResult {
    /// What the run told, or why it failed.
    pub outcome: Result<PointResult, String>,
    /// How long it took.
    pub wall_ns: u64,
}

/// A point with what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredPoint {
    /// Its identity.
    pub id: String,
    /// Its place in the plan.
    pub number: u64,
    /// The point.
    pub point: SweepPoint,
    /// Whether the plan still has it.
    pub in_plan: bool,
    /// Its result, if it is done.
    pub result: Option<StoredResult>,
}

/// An open store.
#[derive(Debug)]
pub struct PointStore {
    path: PathBuf,
    connection: Connection,
}

/// What distinguishes points: the inputs of a point, its settings and its seed.
pub fn identity(inputs: &str, point: &SweepPoint) -> String {
    let text = serde_json::to_string(&(inputs, &point.settings, point.seed)).expect("texts and numbers are JSON");
    sha256::hex_digest(text.as_bytes())[..32].to_owned()
}

impl PointStore {
    /// Opens a store, or makes one, and keeps all others from it.
    ///
    /// # Errors
    /// If that cannot be done, or the store is not whole.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Self::begin(path, OpenFlags::SQLITE_OPEN_CREATE)?;
        store.check()?;
        Ok(store)
    }

    /// Opens a store that must be there; it may be damaged.
    ///
    /// # Errors
    /// If that cannot be done.
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
        let told = |error: rusqlite::Error| error_from_sqlite(&name, &error);
        let connection = Connection::open_with_flags(path, flags).map_err(told)?;
        // Who finds it in use is told so at once.
        connection.busy_timeout(Duration::ZERO).map_err(told)?;
        // The lock is taken now, and kept. A journal that a process has left which died is rolled back here.
        // Where nothing can be written, nobody else writes either.
        if !connection.is_readonly("main").map_err(told)? {
            let pragmas = "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL;";
            connection
                .execute_batch(pragmas)
                .and_then(|()| connection.execute_batch("BEGIN EXCLUSIVE; COMMIT"))
                .map_err(told)?;
        }
        let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
        let tables = || connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
        let (application, version) = (number("application_id").map_err(told)?, number("user_version").map_err(told)?);
        if application == 0 && tables().map_err(told)? == 0 {
            let begin = format!(
                "BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT"
            );
            connection.execute_batch(&begin).map_err(told)?;
        } else if application != APPLICATION {
            return Err(StoreError::Foreign(name, "another program's database".to_owned()));
        } else if version != VERSION {
            return Err(StoreError::Foreign(name, format!("its tables have version {version}, not {VERSION}")));
        }
        Ok(Self { path: path.to_owned(), connection })
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn store_error(&self, error: &rusqlite::Error) -> StoreError {
        error_from_sqlite(&self.name(), error)
    }

    /// Whether SQLite finds it whole, and every result has its checksum.
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

    /// Takes the points of a plan. Those that it has no longer stay, but do not count.
    ///
    /// # Errors
    /// If they cannot be written.
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

    /// Whether it has just these points already: then nothing has to be written.
    fn has_plan(&self, points: &[(String, SweepPoint)]) -> Result<bool, StoreError> {
        let kept = self.points()?;
        let planned = kept.iter().filter(|kept| kept.in_plan).map(|kept| &kept.id);
        Ok(planned.eq(points.iter().map(|(id, _)| id)))
    }

    /// Writes results, all or none of them.
    ///
    /// # Errors
    /// If they cannot be written, or one is there already.
    pub fn put(&mut self, results: &[(String, StoredResult)]) -> Result<(), StoreError> {
        let name = self.name();
        let mut put = || {
            let transaction = self.connection.transaction()?;
            let mut insert = transaction
                .prepare("INSERT INTO results (id, told, is_failure, wall_ns, checksum) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            let mut settings = transaction.prepare("SELECT settings, seed FROM points WHERE id = ?1")?;
            for (id, result) in results {
                let (told, is_failure) = text_of(&result.outcome);
                let of = settings.query_row([id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
                let checksum = checksum(id, &of.0, of.1.cast_unsigned(), &told, is_failure);
                insert.execute(params![id, told, is_failure, result.wall_ns.cast_signed(), checksum])?;
            }
            drop(insert);
            drop(settings);
            transaction.commit()
        };
        put().map_err(|error| error_from_sqlite(&name, &error))
    }

    /// Forgets that points have failed.
    ///
    /// # Errors
    /// If that cannot be written.
    pub fn delete_failures(&mut self) -> Result<usize, StoreError> {
        let gone = self.connection.execute("DELETE FROM results WHERE is_failure = 1", []);
        gone.map_err(|error| self.store_error(&error))
    }

    /// All points with their results, in the order of the plan, those that it no longer has at the end.
    ///
    /// # Errors
    /// If they cannot be read, or one is damaged.
    pub fn points(&self) -> Result<Vec<StoredPoint>, StoreError> {
        self.all(false)
    }

    /// All points that can still be read.
    ///
    /// # Errors
    /// If nothing can be read at all.
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
                // Behind a damaged page nothing more comes.
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
            let told = if is_failure { Some(Err(text.clone())) } else { serde_json::from_str(&text).ok().map(Ok) };
            match (kept.get_mut(&id), told) {
                (Some(kept), Some(told)) if is_as_written(kept, &text, is_failure, &sum) => {
                    kept.result = Some(StoredResult { outcome: told, wall_ns: wall_ns.cast_unsigned() });
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

    /// Takes points and results of another store.
    ///
    /// # Errors
    /// If they cannot be written, or a point has another result here.
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

fn text_of(told: &Result<PointResult, String>) -> (String, bool) {
    match told {
        Ok(told) => (serde_json::to_string(told).expect("texts and numbers are JSON"), false),
        Err(why) => (why.clone(), true),
    }
}

/// That of a result and of the point that it is of.
fn checksum(id: &str, settings: &str, seed: u64, told: &str, is_failure: bool) -> String {
    sha256::hex_digest(format!("{id} {settings} {seed} {is_failure} {told}").as_bytes())[..16].to_owned()
}

/// That which results had at first: of themselves only.
fn former_checksum(id: &str, told: &str, is_failure: bool) -> String {
    sha256::hex_digest(format!("{id} {is_failure} {told}").as_bytes())[..16].to_owned()
}

fn is_as_written(kept: &StoredPoint, told: &str, is_failure: bool, sum: &str) -> bool {
    let settings = serde_json::to_string(&kept.point.settings).expect("texts are JSON");
    checksum(&kept.id, &settings, kept.point.seed, told, is_failure) == sum
        || former_checksum(&kept.id, told, is_failure) == sum
}

/// Who salvages already is not told to.
fn without_salvage(error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged(name, what) => StoreError::Lost(name, what),
        other => other,
    }
}

/// What SQLite complains of, as somebody understands it who sweeps.
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
