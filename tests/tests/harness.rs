//! The generated harness, tried on tools that are right and on tools that are not.

#[path = "harness/tools.rs"]
mod tools;

idem_runtime::__private::suite!(send_refund_harness, super::tools::refund_subject, super::tools::refund_fixture);
