// SPDX-License-Identifier: GPL-2.0-or-later
//! Compressed traces: parts of a `trace.dat`, records of a `perf.data`, and whole files.
//!
//! Blocks of a `trace.dat` state their decompressed length; decompression uses no more memory than that, up to
//! [`MAX_BLOCK`]. Streams do not; they are read up to [`super::MAX_TRACE_BYTES`].

use super::bytes::{ByteReader, CUT};
use super::error::{ReadError, ReadResult};
use fairlab_workload::message::Message;
use std::io::Read as _;

/// Largest decompressed block in bytes. Blocks of trace-cmd have about ten pages.
const MAX_BLOCK: usize = 256 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    Zlib,
    Zstd,
}

/// Decompresses a block: compressed length, decompressed length, data.
pub(super) fn block(packing: Compression, at: &mut ByteReader<'_>) -> ReadResult<Vec<u8>> {
    let place = at.at();
    let packed = at.u32("the length of a compressed block")? as usize;
    let length = at.u32("the length of a block")? as usize;
    let packed = at.take(packed, "a compressed block")?;
    let damaged = |why: &str| {
        ReadError::at(place, format!("a compressed block {why}"), "the file is damaged: copy it again, or record again")
    };
    if length > MAX_BLOCK {
        return Err(damaged(&format!("has a decompressed length of {length} bytes, above the limit")));
    }
    // One more byte detects a block that is longer than stated.
    let most = length as u64 + 1;
    let mut bytes = Vec::new();
    let unpacked = match packing {
        Compression::Zlib => flate2::read::ZlibDecoder::new(packed).take(most).read_to_end(&mut bytes).is_ok(),
        Compression::Zstd => ruzstd::decoding::StreamingDecoder::new(packed)
            .is_ok_and(|decoder| decoder.take(most).read_to_end(&mut bytes).is_ok()),
    };
    if !unpacked {
        return Err(damaged("cannot be decompressed"));
    }
    if bytes.len() != length {
        return Err(damaged(&format!("has {} bytes instead of {length}", bytes.len())));
    }
    Ok(bytes)
}

/// Decompresses a list of blocks. `each` receives the data and the position of the block in the file.
pub(super) fn chunks(
    packing: Compression,
    mut at: ByteReader<'_>,
    each: &mut dyn FnMut(&[u8], usize),
) -> ReadResult<()> {
    let nr = at.u32("the number of compressed blocks")?;
    for _ in 0..nr {
        let place = at.at();
        let bytes = block(packing, &mut at)?;
        each(&bytes, place);
    }
    Ok(())
}

/// Compression of a whole file that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileCompression {
    Gzip,
    Zstd,
    /// `atrace -z` prints a line `TRACE:` and then a zlib stream, which begins at this byte.
    Zlib(usize),
}

/// Number of bytes at the start of a file in which the line `TRACE:` of `atrace -z` is searched.
const MAX_ATRACE_HEAD: usize = 1 << 16;
const TRACE_LINE: &[u8] = b"TRACE:";
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Zstd frames with other data than the content, at the start of files of parallel compressors.
const ZSTD_SKIPPABLE: &[u8] = &[0x2a, 0x4d, 0x18];

impl FileCompression {
    pub(super) fn of(file: &[u8]) -> Option<Self> {
        if file.starts_with(&[0x1f, 0x8b]) {
            return Some(Self::Gzip);
        }
        let is_skippable =
            file.first().is_some_and(|byte| byte & 0xf0 == 0x50) && file[1..].starts_with(ZSTD_SKIPPABLE);
        if file.starts_with(ZSTD_MAGIC) || is_skippable {
            return Some(Self::Zstd);
        }
        if is_zlib(file) {
            return Some(Self::Zlib(0));
        }
        let head = &file[..file.len().min(MAX_ATRACE_HEAD)];
        let line = head.windows(TRACE_LINE.len()).position(|window| window == TRACE_LINE)?;
        let mut from = line + TRACE_LINE.len();
        while head.get(from).is_some_and(|byte| b"\r\n".contains(byte)) {
            from += 1;
        }
        is_zlib(&file[from..]).then_some(Self::Zlib(from))
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Zlib(_) => "zlib",
        }
    }

    /// Returns the decompressed file.
    pub(super) fn decompress(self, file: &[u8]) -> ReadResult<Vec<u8>> {
        let most = super::MAX_TRACE_BYTES;
        let mut rest = file;
        let mut bytes = Vec::new();
        let result = match self {
            Self::Gzip => {
                let mut decoder = flate2::bufread::MultiGzDecoder::new(rest);
                let result = decoder.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(StreamError::from);
                rest = decoder.into_inner();
                result
            }
            Self::Zlib(from) => {
                // Old versions of `adb shell` print each line feed as a carriage return and a line feed.
                let is_translated = file[..from].ends_with(b"\r\n");
                let plain = if is_translated { without_carriage_returns(&file[from..]) } else { Vec::new() };
                let stream = if is_translated { &plain[..] } else { &file[from..] };
                let mut decoder = flate2::bufread::ZlibDecoder::new(stream);
                let result = decoder.by_ref().take(most + 1).read_to_end(&mut bytes).map_err(StreamError::from);
                let used = from + decoder.total_in() as usize;
                rest = &file[used.min(file.len())..];
                result
            }
            Self::Zstd => unpack_zstd(&mut rest, most + 1, false, &mut bytes),
        };
        let place = file.len() - rest.len();
        let name = self.name();
        match result {
            Err(StreamError::Cut) => {
                let message = format!("the {name} stream ends too early, after {} bytes of content", bytes.len());
                Err(ReadError::at(file.len(), message, CUT))
            }
            Err(StreamError::Damaged(why)) => {
                let message = format!("the {name} stream is damaged: {why}");
                Err(ReadError::at(place, message, CUT))
            }
            Ok(_) if bytes.len() as u64 > most => {
                let message = format!("the decompressed trace is longer than {} MiB", most >> 20);
                Err(ReadError::at(place, message, "record for less time"))
            }
            Ok(_) => Ok(bytes),
        }
    }
}

/// Whether a zlib stream begins here: the two bytes that announce deflate with a window of 32 KiB. Those of
/// compression levels 2 to 5, `x^`, could also be text.
fn is_zlib(bytes: &[u8]) -> bool {
    bytes.first() == Some(&0x78) && bytes.get(1).is_some_and(|byte| [0x01, 0x9c, 0xda].contains(byte))
}

fn without_carriage_returns(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    for (at, &byte) in bytes.iter().enumerate() {
        if byte != b'\r' || bytes.get(at + 1) != Some(&b'\n') {
            plain.push(byte);
        }
    }
    plain
}

/// Reason why a stream cannot be decompressed.
#[derive(Debug)]
enum StreamError {
    Cut,
    Damaged(String),
}

impl From<std::io::Error> for StreamError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::UnexpectedEof => Self::Cut,
            _ => Self::Damaged(error.to_string()),
        }
    }
}

/// Decompresses zstd frames until `stream` is empty, or `bytes` has at least `most` bytes. If `may_be_open`, the
/// stream may end inside a frame, between two blocks.
fn unpack_zstd(stream: &mut &[u8], most: u64, may_be_open: bool, bytes: &mut Vec<u8>) -> Result<usize, StreamError> {
    use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
    use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
    /// Empty block with the mark of a frame's last one, and room for a checksum, which is not verified.
    const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];
    while !stream.is_empty() {
        let begin = *stream;
        let error = |rest: &[u8], error: &FrameDecoderError| match rest.is_empty() {
            true => StreamError::Cut,
            false => StreamError::Damaged(error.to_string()),
        };
        let mut decoder = FrameDecoder::new();
        match decoder.init(&mut *stream) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                // The length follows the magic number; both have four bytes.
                *stream = begin.get(8..).and_then(|rest| rest.get(length as usize..)).ok_or(StreamError::Cut)?;
                continue;
            }
            result => result.map_err(|fault| error(stream, &fault))?,
        }
        while !decoder.is_finished() {
            let source = if may_be_open && stream.is_empty() { &mut &*LAST_BLOCK } else { &mut *stream };
            let result = decoder.decode_blocks(&mut *source, BlockDecodingStrategy::UptoBlocks(1));
            result.map_err(|fault| error(stream, &fault))?;
            bytes.extend(decoder.collect().into_iter().flatten());
            if bytes.len() as u64 >= most {
                return Ok(bytes.len());
            }
        }
    }
    Ok(bytes.len())
}

/// Decompresses the records of a perf.data. `perf record` flushes its stream for each record and does not end it.
/// Fails with the reason.
pub(super) fn perf_records(stream: &[u8]) -> Result<Vec<u8>, Message> {
    let most = super::MAX_TRACE_BYTES;
    let mut bytes = Vec::new();
    match unpack_zstd(&mut &*stream, most + 1, true, &mut bytes) {
        Err(StreamError::Cut) => Err(Message::new("the stream ends too early")),
        Err(StreamError::Damaged(why)) => Err(Message::new(why)),
        Ok(_) if bytes.len() as u64 > most => Err(Message::new(format!("they are longer than {} MiB", most >> 20))),
        Ok(_) => Ok(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// Returns a content that does not compress well, so that streams have many bytes.
    fn content() -> Vec<u8> {
        let mut random = 7_u64;
        let next = |_| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 60) as u8 + b'a'
        };
        (0..100_000).map(next).collect()
    }

    fn zlib(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory does not fail")
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).and_then(|()| encoder.finish()).expect("memory does not fail")
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(content, 3).expect("memory does not fail")
    }

    fn atrace(line_end: &str) -> Vec<u8> {
        let plain = [b"capturing trace... done\nTRACE:\n".to_vec(), zlib(&content())].concat();
        let translated = plain.iter().flat_map(|byte| match byte {
            b'\n' => line_end.as_bytes().to_vec(),
            byte => vec![*byte],
        });
        translated.collect()
    }

    #[test]
    fn streams_are_decompressed_and_cut_or_damaged_ones_named_with_their_position() {
        let content = content();
        let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
        for (name, file, times) in [
            ("gzip", gzip(&content), 1),
            ("two members", [gzip(&content), gzip(&content)].concat(), 2),
            ("zstd", zstd(&content), 1),
            ("two frames", [skippable, zstd(&content), zstd(&content)].concat(), 2),
            ("atrace", atrace("\n"), 1),
            ("atrace of old adb", atrace("\r\n"), 1),
            ("zlib", zlib(&content), 1),
        ] {
            let compression = FileCompression::of(&file).unwrap_or_else(|| panic!("{name} is not recognised"));
            assert_eq!(compression.decompress(&file).as_deref(), Ok(&content.repeat(times)[..]), "{name}");
            let fault = |file: &[u8], name: &str| match compression.decompress(file) {
                Ok(_) => panic!("{name} is read"),
                Err(fault) => fault,
            };
            let cut = fault(&file[..file.len() - 100], name);
            assert!(cut.message.contains("ends too early, after"), "{name}: {cut:?}");
            assert_eq!(cut.place, format!("byte {}", file.len() - 100), "{name}");
            let mut damaged = file.clone();
            damaged[file.len() / 2..].fill(0xff);
            let fault = fault(&damaged, name);
            assert!(
                ["is damaged", "ends too early"].iter().any(|what| fault.message.contains(what))
                    && fault.place.starts_with("byte "),
                "{name}: {fault:?}"
            );
        }
    }

    #[test]
    fn plain_files_are_not_taken_for_compressed_ones() {
        for file in [
            &b""[..],
            b"P",
            b"x^-1 [000] 1.5: sched_switch: ",
            b"TRACE:\n# tracer: nop\n",
            b"TRACE:",
            b"\x17\x08\x44tracing",
        ] {
            assert_eq!(FileCompression::of(file), None, "{file:?}");
        }
    }

    #[test]
    fn a_stream_that_perf_did_not_end_is_read_to_its_last_block() {
        let content = content();
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory does not fail");
        for part in content.chunks(9000) {
            encoder.write_all(part).and_then(|()| encoder.flush()).expect("memory does not fail");
        }
        let open = encoder.get_ref().clone();
        assert_eq!(perf_records(&open).as_deref(), Ok(&content[..]));
        assert_eq!(perf_records(&encoder.finish().expect("memory does not fail")).as_deref(), Ok(&content[..]));
        assert!(perf_records(&open[..open.len() - 1]).is_err(), "inside a block");
        assert!(perf_records(b"\x28\xb5").is_err() && perf_records(b"none of it").is_err());
    }
}
