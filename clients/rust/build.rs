//! Generates the client from the document whose file is named in `REGISTER_OPENAPI`.

use std::{env, fs};

fn main() -> anyhow::Result<()> {
    let document = env::var("REGISTER_OPENAPI")?;
    println!("cargo::rerun-if-env-changed=REGISTER_OPENAPI");
    println!("cargo::rerun-if-changed={document}");
    let document: openapiv3::OpenAPI = serde_json::from_str(&fs::read_to_string(document)?)?;
    let tokens = progenitor::Generator::default().generate_tokens(&document)?;
    fs::write(
        format!("{}/client.rs", env::var("OUT_DIR")?),
        prettyplease::unparse(&syn::parse2(tokens)?),
    )?;
    Ok(())
}
