// SPDX-License-Identifier: GPL-2.0-or-later
//! Serialisation of times as whole nanoseconds, for `#[serde(with = "...")]`.

/// A time.
pub mod nanos {
    use fairlab_sched::units::Nanos;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the time in nanoseconds.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(time.0)
    }

    /// Reads a number of nanoseconds.
    ///
    /// # Errors
    /// If there is no such number.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Nanos, D::Error> {
        u64::deserialize(deserializer).map(Nanos)
    }
}

/// A time that may be absent.
pub mod optional_nanos {
    use fairlab_sched::units::Nanos;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes the time in nanoseconds, or null.
    ///
    /// # Errors
    /// Those of the serialiser.
    pub fn serialize<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.0).serialize(serializer)
    }

    /// Reads a number of nanoseconds, or null.
    ///
    /// # Errors
    /// If there is neither.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Nanos>, D::Error> {
        Option::<u64>::deserialize(deserializer).map(|ns| ns.map(Nanos))
    }
}
