//! Login modules as Java writes them, and mistakes that show no value.

use super::*;

#[test]
fn module_is_read_with_comments_quotes_bare_values_and_escapes() {
    let text = "a.B required // one\n user=bare /* two */ password='x\\'y' other=\"a;b=c\\n\"\n;";
    let module = parse(text).unwrap();
    assert_eq!(module.name, "a.B");
    let options: Vec<(&str, &str)> = module.options.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
    assert_eq!(options, [("other", "a;b=c\n"), ("password", "x'y"), ("user", "bare")]);
}

#[test]
fn mistakes_are_named_without_values() {
    for (text, reason) in [
        ("", "give the class"),
        ("a.B", "give the class"),
        ("a.B needed x=secret;", "the word after a.B has to be required"),
        ("a.B required x=secret", "semicolon"),
        ("a.B required x secret;", "not name=value"),
        ("a.B required ='secret';", "not name=value"),
        ("a.B required x='secret;", "not closed"),
        ("a.B required x=\"secret\n\";", "not closed"),
        ("a.B required x=secret; c.D required;", "one login module"),
    ] {
        let error = parse(text).map(|found| found.name).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}
