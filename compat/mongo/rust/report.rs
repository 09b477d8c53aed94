//! Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story.

use mongodb::error::{ErrorKind, WriteFailure};
use serde_json::json;
use std::{error::Error, fmt::Debug, future::Future};

pub type Outcome = Result<(), Box<dyn Error>>;

pub async fn step(name: &str, run: impl Future<Output = Outcome>) {
    match run.await {
        Ok(()) => println!("{}", json!({"step": name, "ok": true})),
        Err(error) => println!("{}", json!({"step": name, "ok": false, "why": error.to_string()})),
    }
}

/// The client has no call for this step.
pub fn absent(name: &str, why: &str) {
    println!("{}", json!({"step": name, "absent": why}));
}

pub fn equal<T: PartialEq + Debug>(actual: T, expected: T) -> Outcome {
    if actual == expected {
        return Ok(());
    }
    Err(format!("{actual:?} instead of {expected:?}").into())
}

/// The code that the server refuses a call with.
pub fn refusal<T>(answer: mongodb::error::Result<T>) -> i32 {
    match answer.err().map(|error| *error.kind) {
        Some(ErrorKind::Command(error)) => error.code,
        Some(ErrorKind::Write(WriteFailure::WriteError(error))) => error.code,
        _ => 0,
    }
}
