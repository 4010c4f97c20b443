//! Compiles `proto/` with protox, so that no protoc is needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let descriptors = protox::compile(
        [
            "plugin/goplugin.proto",
            "generated/plugin_lister.proto",
            "v2/backup_item_action.proto",
        ],
        ["proto"],
    )?;
    tonic_prost_build::configure()
        .bytes(".v2.ExecuteRequest")
        .bytes(".v2.ExecuteResponse")
        .compile_fds(descriptors)?;
    Ok(())
}
