//! Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story.

use azure_data_cosmos::CosmosError;
use serde_json::json;
use std::{error::Error, fmt::Debug, future::Future};

pub type Outcome = Result<(), Box<dyn Error>>;

pub async fn step(name: &str, run: impl Future<Output = Outcome>) {
    match run.await {
        Ok(()) => println!("{}", json!({"step": name, "ok": true})),
        Err(error) if is_left_out(&*error) => {
            absent(name, "the client cannot do this over several partitions")
        }
        Err(error) => println!("{}", json!({"step": name, "ok": false, "why": why(&*error)})),
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

/// The status that the service refuses a call with.
pub fn refusal<T>(answer: Result<T, CosmosError>) -> u16 {
    answer.err().map_or(0, |error| error.status().status_code().into())
}

/// The service answers so when a query needs something that the client cannot do.
fn is_left_out(error: &dyn Error) -> bool {
    error.to_string().contains("which the calling client does not support")
}

/// What the error says, and what caused it.
fn why(error: &dyn Error) -> String {
    let cause = error.source().map_or(String::new(), |source| format!(": {}", why(source)));
    let text = error.to_string();
    if cause.is_empty() || text.contains(&cause[2..]) {
        text
    } else {
        text + &cause
    }
}
