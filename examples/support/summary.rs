//! What is printed at the end: the table, the last words to the model, the conversations. It must not count anything.

use std::fmt::Write as _;

use crate::{
    session::ToolSet,
    stories::{Played, Told},
    table,
    tool_server::Answer,
};

const HEAD: [&str; 6] = ["story", "format", "attempts", "effects", "keys", "the model was told"];

const LEGEND: &str = "attempts: calls that reached the tool; effects and keys: what the payment provider counted";

/// The table, and what the model read last in each story.
pub fn text(played: &[Played], tools: ToolSet) -> String {
    let rows: Vec<[String; 6]> = played.iter().map(row).collect();
    let words: String = played.iter().map(last_words).collect();
    let contrast = match tools {
        ToolSet::Guarded => "The same stories without the attribute: add --unguarded.",
        ToolSet::Unguarded => "This was the tool without the attribute: leave out --unguarded.",
    };
    let table = table::aligned(HEAD, &rows);
    format!("{LEGEND}\n\n{table}\n\nThe last words to the model:\n{words}\n{contrast}\n")
}

/// Each conversation as the agent would send it to the model next.
pub fn conversations(played: &[Played]) -> String {
    let mut out = String::new();
    for story in played {
        let whole = serde_json::Value::from(story.conversation.clone());
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{} ({}):\n{whole:#}\n", story.title, story.format.name());
    }
    out
}

fn row(story: &Played) -> [String; 6] {
    [
        story.title.to_owned(),
        story.format.name().to_owned(),
        story.attempts.to_string(),
        story.count.effects.to_string(),
        story.count.keys.to_string(),
        in_words(&story.told),
    ]
}

/// What was told, in order.
fn in_words(told: &[Told]) -> String {
    match told.iter().map(in_a_word).collect::<Vec<_>>().as_slice() {
        [first, second] if first == second => format!("{first}, twice"),
        words => words.join(", then "),
    }
}

fn in_a_word(told: &Told) -> String {
    let word = |answer: &Answer| {
        let suffix = if answer.replayed { " (replayed)" } else { "" };
        format!("{}{suffix}", answer.status)
    };
    match told {
        Told::Results(answers) => answers.iter().map(word).collect::<Vec<_>>().join(" + "),
        Told::Killed => "nothing (killed)".to_owned(),
    }
}

fn last_words(story: &Played) -> String {
    let words = match story.told.last() {
        Some(Told::Results(answers)) => answers.last().map_or("", |answer| &answer.text),
        Some(Told::Killed) | None => "",
    };
    format!("\n  {}\n    {}\n", story.title, words.replace('\n', "\n    "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{bank::Count, transcript::Format};

    fn answer(status: &str, replayed: bool) -> Answer {
        Answer { status: status.to_owned(), replayed, is_error: false, text: format!("{status}:\nmore") }
    }

    fn killed() -> Played {
        Played {
            title: "killed",
            format: Format::OpenAi,
            attempts: 2,
            count: Count { effects: 1, keys: 1 },
            told: vec![Told::Killed, Told::Results(vec![answer("a", false), answer("b", true)])],
            conversation: vec![json!({"role": "user"})],
        }
    }

    #[test]
    fn a_row_says_what_was_told_in_order_and_the_words_are_the_last() {
        let text = text(&[killed()], ToolSet::Guarded);
        let row = "killed  OpenAI         2        1     1  nothing (killed), then a + b (replayed)\n";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("\n  killed\n    b:\n    more\n"), "{text}");
        assert!(text.ends_with("add --unguarded.\n"), "{text}");
    }

    #[test]
    fn the_same_words_are_said_once() {
        let told = [Told::Results(vec![answer("a", false)]), Told::Results(vec![answer("a", false)])];
        assert_eq!(in_words(&told), "a, twice");
    }

    #[test]
    fn a_conversation_is_printed_as_json() {
        assert_eq!(conversations(&[killed()]), "\nkilled (OpenAI):\n[\n  {\n    \"role\": \"user\"\n  }\n]\n");
    }
}
