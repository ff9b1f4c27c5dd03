//! Files with dates in the forms that spreadsheets write.

use trainee_file::DateOrder;

use super::{check, outcome_with};

fn dates(cells: &[&str]) -> Vec<u8> {
    format!("date_of_birth\n{}\n", cells.join("\n")).into_bytes()
}

#[test]
fn dates_are_read_in_the_order_of_their_file() {
    check(&[
        (
            "ISO",
            dates(&["2001-09-01", "2001-13-01"]),
            "date_of_birth\n2 2001-09-01\n3 2001-13-01",
        ),
        (
            "day, month, year",
            dates(&["01/09/2001", "31/12/1999", "2001-02-03", "x"]),
            "date_of_birth\n~date_of_birth day_first 2: 01/09/2001 > 2001-09-01\n2 2001-09-01\n\
             3 1999-12-31\n4 2001-02-03\n5 x",
        ),
        (
            "order that no cell decides",
            dates(&["1/9/2001", "5/5/2001"]),
            "date_of_birth\n~date_of_birth day_first 1: 5/5/2001 > 2001-05-05\n\
             ~date_of_birth undecided_dates 1: 1/9/2001 > 2001-09-01 or 2001-01-09\n2 1/9/2001\n\
             3 2001-05-05",
        ),
        (
            "month, day, year",
            dates(&["9/1/2001", "12/31/1999"]),
            "date_of_birth\n~date_of_birth month_first 2: 9/1/2001 > 2001-09-01\n2 2001-09-01\n\
             3 1999-12-31",
        ),
        (
            "both orders",
            dates(&["9/1/2001", "12/31/1999", "31/12/1999"]),
            "date_of_birth\n~date_of_birth mixed_dates 3: 9/1/2001 > 2001-01-09 or 2001-09-01\n2 9/1/2001\n3 12/31/1999\n\
             4 31/12/1999",
        ),
        (
            "impossible date",
            dates(&["31/02/2001", "13/09/2001"]),
            "date_of_birth\n~date_of_birth day_first 2: 31/02/2001 > 2001-02-31\n2 2001-02-31\n\
             3 2001-09-13",
        ),
        (
            "dots and hyphens",
            dates(&["13.09.2001", "1-9-2001"]),
            "date_of_birth\n~date_of_birth day_first 2: 13.09.2001 > 2001-09-13\n2 2001-09-13\n\
             3 2001-09-01",
        ),
        (
            "names of months",
            dates(&[
                "01-Sep-99",
                "1 September 2001",
                "Sept 1 2001",
                "3 Marsch 2001",
            ]),
            "date_of_birth\n~date_of_birth month_names 3: 01-Sep-99 > 1999-09-01\n2 1999-09-01\n\
             3 2001-09-01\n4 2001-09-01\n5 3 Marsch 2001",
        ),
        (
            "order that another column decides",
            "itt_start_date,itt_end_date,date_of_birth\n9/1/2026,7/16/2027,4/12/1999\n".into(),
            "itt_start_date|itt_end_date|date_of_birth\n\
             ~itt_start_date month_first 1: 9/1/2026 > 2026-09-01\n\
             ~itt_end_date month_first 1: 7/16/2027 > 2027-07-16\n\
             ~date_of_birth month_first 1: 4/12/1999 > 1999-04-12\n2 2026-09-01|2027-07-16|1999-04-12",
        ),
        (
            "columns that contradict each other",
            "itt_start_date,itt_end_date\n13/1/2026,7/16/2027\n".into(),
            "itt_start_date|itt_end_date\n\
             ~itt_start_date mixed_dates 1: 13/1/2026 > 2026-01-13\n\
             ~itt_end_date mixed_dates 1: 7/16/2027 > 2027-07-16\n2 13/1/2026|7/16/2027",
        ),
        (
            "years of birth of two digits",
            dates(&["13/09/26", "13/12/26", "13/09/30", "13/09/99"]),
            "date_of_birth\n~date_of_birth day_first 4: 13/09/26 > 2026-09-13\n2 2026-09-13\n\
             3 1926-12-13\n4 1930-09-13\n5 1999-09-13",
        ),
        (
            "other years of two digits",
            "itt_end_date\n31/07/30\n28/11/76\n29/11/76\n01-Sep-99\n".into(),
            "itt_end_date\n~itt_end_date day_first 3: 31/07/30 > 2030-07-31\n\
             ~itt_end_date month_names 1: 01-Sep-99 > 1999-09-01\n2 2030-07-31\n3 2076-11-28\n\
             4 1976-11-29\n5 1999-09-01",
        ),
        (
            "years as dates",
            "Degree Graduation Year\n01/08/2010\n45535\n2010.0\n2010\n2010-08-01\n1 Aug 2010\n"
                .into(),
            "degrees.1.graduation_year\n\
             ~degrees.1.graduation_year dates_of_years 4: 01/08/2010 > 2010\n2 2010\n3 2024\n4 2010\n\
             5 2010\n6 2010-08-01\n7 2010",
        ),
        (
            "timestamps",
            dates(&["2001-09-01T00:00:00Z", "2001/9/1", "2001-09-01 12:00"]),
            "date_of_birth\n~date_of_birth year_first 2: 2001-09-01T00:00:00Z > 2001-09-01\n\
             2 2001-09-01\n3 2001-09-01\n4 2001-09-01 12:00",
        ),
        (
            "day numbers",
            dates(&["37135", "36525"]),
            "date_of_birth\n~date_of_birth day_numbers 2: 37135 > 2001-09-01\n2 2001-09-01\n\
             3 1999-12-31",
        ),
    ]);
}

#[test]
fn chosen_order_repairs_dates_that_exist_in_it() {
    let file = dates(&["9/1/2001", "12/31/1999", "31/12/1999"]);
    let cases = [
        (
            DateOrder::DayFirst,
            "~date_of_birth day_first 2: 9/1/2001 > 2001-01-09\n2 2001-01-09\n3 12/31/1999\n4 1999-12-31",
        ),
        (
            DateOrder::MonthFirst,
            "~date_of_birth month_first 2: 9/1/2001 > 2001-09-01\n2 2001-09-01\n3 1999-12-31\n4 31/12/1999",
        ),
    ];
    for (order, expected) in cases {
        let expected = format!("date_of_birth\n{expected}");
        assert_eq!(outcome_with(&file, Some(order)), expected);
    }
}
