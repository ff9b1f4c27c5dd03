//! Checks the archive of a workbook before its cells are read.
//!
//! The sum of the sizes that the archive states limits the memory, because the library fails to read
//! a part beyond its stated size. The XML of the parts is searched for what makes a reader allocate
//! memory, and for what refers to something outside of the file.

use std::io::{BufReader, Cursor, Read};

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::fault::Limits;
use crate::workbook_fault::WorkbookFault;

/// The part of an Excel workbook with the kinds of its parts.
const CONTENT_TYPES: &str = "[Content_Types].xml";
/// The part of an OpenDocument file with its kind.
const MIME_TYPE: &str = "mimetype";
const OPEN_DOCUMENT_SPREADSHEET: &str = "application/vnd.oasis.opendocument.spreadsheet";
/// The part of an OpenDocument file that says which parts are encrypted.
const MANIFEST: &str = "META-INF/manifest.xml";
/// The beginnings of names of parts with macros, in lower case.
const MACRO_FOLDERS: [&str; 3] = ["xl/macrosheets/", "basic/", "scripts/"];
const EXTERNAL_LINKS_FOLDER: &str = "xl/externallinks/";
/// Cell formats and formats of cell styles. Excel has up to 65,490 of each.
const MAX_CELL_FORMATS: usize = 2 * 65_490;
const MAX_SHEETS: usize = 1_000;
/// The attributes of a font's name and of a number format, which has up to 255 characters.
const MAX_FORMAT_BYTES: usize = 2_048;
/// The attributes of a relationship, such as an address of a hyperlink.
const MAX_RELATIONSHIP_BYTES: usize = 16 * 1_024;

/// The format of a workbook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Excel,
    OpenDocument,
}

/// An archive in memory.
pub(super) type Archive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Opens the archive of a workbook. Before its parts are read, [`check`] must have limited their sizes.
pub(super) fn open(bytes: &[u8]) -> Result<Archive<'_>, WorkbookFault> {
    ZipArchive::new(Cursor::new(bytes)).map_err(|_| WorkbookFault::Damaged)
}

/// Returns the format of a workbook that is safe to read within the limits.
pub(super) fn check(bytes: &[u8], limits: &Limits) -> Result<Format, WorkbookFault> {
    let mut archive = open(bytes)?;
    check_listed_parts(&mut archive, limits)?;
    let format = find_format(&mut archive)?;
    // The manifest comes first, because encrypted parts are no XML.
    let manifest = archive.index_for_name(MANIFEST);
    for index in manifest.into_iter().chain(0..archive.len()) {
        let part = open_part(&mut archive, index)?;
        let name = lower_case_name(&part)?;
        if name.ends_with(".xml") || name.ends_with(".rels") {
            check_xml(part, limits)?;
        }
    }
    Ok(format)
}

/// Checks the list of parts: their names, their encryption and the sizes that it states.
fn check_listed_parts(archive: &mut Archive<'_>, limits: &Limits) -> Result<(), WorkbookFault> {
    let mut stated = 0_u64;
    for index in 0..archive.len() {
        let part = archive
            .by_index_raw(index)
            .map_err(|_| WorkbookFault::Damaged)?;
        let name = lower_case_name(&part)?;
        if part.encrypted() {
            return Err(WorkbookFault::Password);
        }
        let is_macro = |folder| name.starts_with(folder);
        if name.ends_with("vbaproject.bin") || MACRO_FOLDERS.into_iter().any(is_macro) {
            return Err(WorkbookFault::Macros);
        }
        if name.starts_with(EXTERNAL_LINKS_FOLDER) {
            return Err(WorkbookFault::ExternalLinks);
        }
        stated = stated.saturating_add(part.size());
    }
    if stated > limits.unpacked_bytes() as u64 {
        return Err(WorkbookFault::TooLarge(limits.unpacked_bytes()));
    }
    Ok(())
}

fn lower_case_name<R: Read>(part: &ZipFile<'_, R>) -> Result<String, WorkbookFault> {
    let name = part.name().map_err(|_| WorkbookFault::Damaged)?;
    Ok(name.replace('\\', "/").to_ascii_lowercase())
}

/// Finds the format by the part that states it.
fn find_format(archive: &mut Archive<'_>) -> Result<Format, WorkbookFault> {
    if read_part(archive, MIME_TYPE)?.as_deref() == Some(OPEN_DOCUMENT_SPREADSHEET) {
        return Ok(Format::OpenDocument);
    }
    let types = read_part(archive, CONTENT_TYPES)?.unwrap_or_default();
    if types.contains("sheet.binary.") {
        return Err(WorkbookFault::Binary);
    }
    if types.contains("macroEnabled") {
        return Err(WorkbookFault::Macros);
    }
    if types.contains("spreadsheetml.sheet.main+xml") {
        return Ok(Format::Excel);
    }
    Err(WorkbookFault::OtherArchive)
}

/// Returns the text of a part; `None` if the archive has no such part.
pub(super) fn read_part(
    archive: &mut Archive<'_>,
    name: &str,
) -> Result<Option<String>, WorkbookFault> {
    let Some(index) = archive.index_for_name(name) else {
        return Ok(None);
    };
    let mut text = String::new();
    let read = open_part(archive, index)?.read_to_string(&mut text);
    read.map_err(|_| WorkbookFault::Damaged)?;
    Ok(Some(text))
}

fn open_part<'a>(
    archive: &'a mut Archive<'_>,
    index: usize,
) -> Result<ZipFile<'a, impl Read>, WorkbookFault> {
    archive.by_index(index).map_err(|_| WorkbookFault::Damaged)
}

/// Searches the XML of a part for what no reader may see.
fn check_xml(part: impl Read, limits: &Limits) -> Result<(), WorkbookFault> {
    let mut reader = Reader::from_reader(BufReader::new(part));
    let mut buffer = Vec::new();
    let (mut formats, mut sheets) = (0, 0);
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        match event.map_err(|_| WorkbookFault::Damaged)? {
            Event::DocType(_) => return Err(WorkbookFault::DocumentType),
            Event::Start(element) | Event::Empty(element) => {
                check_element(&element, limits)?;
                formats += usize::from(element.local_name().as_ref() == "xf");
                sheets += usize::from(element.local_name().as_ref() == "sheet");
            }
            Event::Eof => return Ok(()),
            Event::End(_)
            | Event::Text(_)
            | Event::CData(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::GeneralRef(_) => {}
        }
        // calamine copies the names of the font and of the number format for each cell format, and
        // the target of the relationship for each sheet.
        if formats > MAX_CELL_FORMATS || sheets > MAX_SHEETS {
            return Err(WorkbookFault::Damaged);
        }
    }
}

fn check_element(element: &BytesStart<'_>, limits: &Limits) -> Result<(), WorkbookFault> {
    match element.local_name().as_ref() {
        "encryption-data" => Err(WorkbookFault::Password),
        "table-source" | "cell-range-source" | "dde-source" => Err(WorkbookFault::ExternalLinks),
        "numFmt" | "name" => check_length(element, MAX_FORMAT_BYTES),
        "Relationship" => {
            check_length(element, MAX_RELATIONSHIP_BYTES)?;
            let is_external = attribute(element, "TargetMode")?.as_deref() == Some("External");
            let kind = attribute(element, "Type")?.unwrap_or_default();
            if is_external && !kind.ends_with("/hyperlink") {
                return Err(WorkbookFault::ExternalLinks);
            }
            Ok(())
        }
        "sst" => {
            // calamine reserves memory for this number of texts before it reads them.
            let stated = attribute(element, "uniqueCount")?.unwrap_or_default();
            let most = limits.rows.saturating_mul(limits.columns);
            if stated.parse().is_ok_and(|stated: usize| stated > most) {
                return Err(WorkbookFault::TooLarge(limits.unpacked_bytes()));
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Fails if the attributes of an element are longer than a spreadsheet writes them.
fn check_length(element: &BytesStart<'_>, most: usize) -> Result<(), WorkbookFault> {
    if element.attributes_raw().len() > most {
        return Err(WorkbookFault::Damaged);
    }
    Ok(())
}

/// Returns the value of an attribute by its name without the prefix; `None` if the element has none.
pub(super) fn attribute(
    element: &BytesStart<'_>,
    name: &str,
) -> Result<Option<String>, WorkbookFault> {
    let mut attributes = element.attributes();
    // The search for repeated attributes takes quadratic time.
    for attribute in attributes.with_checks(false) {
        let attribute = attribute.map_err(|_| WorkbookFault::Damaged)?;
        if attribute.key.local_name().as_ref() == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|_| WorkbookFault::Damaged)?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}
