//! Every saved input, without an engine: seeds, inputs that the engine saved, and inputs that once broke a promise.

use plugport_fuzz::{TARGETS, saved_inputs};

/// Each is also tried cut in half, which costs little and is where parsers stumble.
#[test]
fn every_saved_input_keeps_its_promise() {
    let mut broken = Vec::new();
    for target in TARGETS {
        let written = saved_inputs::inputs(&saved_inputs::written(target.name)).unwrap();
        assert!(!written.is_empty(), "{} has no inputs", target.name);
        let inputs =
            written.into_iter().chain(saved_inputs::inputs(&saved_inputs::kept(target.name)).unwrap());
        for input in inputs {
            let checked = std::panic::catch_unwind(|| {
                (target.check)(&input);
                (target.check)(&input[..input.len() / 2]);
            });
            if checked.is_err() {
                broken.push(format!("{}: {}", target.name, saved_inputs::write(&input)));
            }
        }
    }
    assert!(broken.is_empty(), "broken promises:\n{}", broken.join("\n"));
}

#[test]
fn every_file_of_inputs_has_its_target() {
    for file in [saved_inputs::written("x"), saved_inputs::kept("x")] {
        for entry in std::fs::read_dir(file.parent().unwrap()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(plugport_fuzz::target(name).is_some(), "{} belongs to no target", path.display());
        }
    }
}
