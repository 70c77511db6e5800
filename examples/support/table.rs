//! Text in aligned columns. It must not know what the columns mean.

/// Writes rows under a head; columns whose cells below the head are numbers stand to the right.
pub fn aligned<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let numbers: [bool; N] =
        std::array::from_fn(|column| rows.iter().all(|row| row[column].chars().all(|letter| letter.is_ascii_digit())));
    let line = |cells: [&str; N]| {
        let padded =
            cells.iter().zip(widths).zip(numbers).map(|((cell, width), number)| {
                if number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let rule = widths.map(|width| "-".repeat(width));
    let mut lines = vec![line(head), line(rule.each_ref().map(String::as_str))];
    lines.extend(rows.iter().map(|row| line(row.each_ref().map(String::as_str))));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_left_and_numbers_right() {
        let rows = [["a".to_owned(), "10".to_owned()], ["long".to_owned(), "2".to_owned()]];
        assert_eq!(aligned(["x", "n"], &rows), "x      n\n----  --\na     10\nlong   2");
    }
}
