//! One JSON text, token by token, as Spark's parser takes it: RFC 8259, texts in single quotes too, and the numbers NaN
//! and Infinity.
//!
//! A value that is skipped is checked like one that is read: no syntax error is passed over. Nothing recurses, so no
//! input overflows the stack, and nothing is allocated. Texts stay as they are written; `text` unescapes them. Bytes of
//! texts are not checked to be UTF-8: the caller has done so for the whole input.

/// Deepest nesting of arrays and objects, which is Jackson's default.
pub(super) const MAX_DEPTH: usize = 1_000;
/// One bit for each open array or object: set for an object.
const DEPTH_WORDS: usize = MAX_DEPTH.div_ceil(64);
const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Why a text is no JSON, and the byte at which that shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JsonError {
    pub(super) at: usize,
    pub(super) reason: &'static str,
}

/// What a token is; of a text, its first byte tells too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Null,
    True,
    False,
    /// A number without fraction and exponent.
    Integer,
    /// Any other number; also NaN and Infinity.
    Float,
    /// A text without escapes; its span is what is between the quotes.
    Plain,
    /// A text with escapes; its span is what is between the quotes.
    Escaped,
    Array,
    Object,
}

/// A whole value: where its bytes are in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) kind: TokenKind,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Span {
    pub(super) fn of<'a>(&self, input: &'a [u8]) -> &'a [u8] {
        input.get(self.start..self.end).unwrap_or_default()
    }
}

pub(super) struct Lexer<'a> {
    input: &'a [u8],
    at: usize,
}

type Result<T> = std::result::Result<T, JsonError>;

impl<'a> Lexer<'a> {
    pub(super) fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// Inside of the array or object that the span is, after its bracket.
    pub(super) fn inside(input: &'a [u8], span: Span) -> Self {
        let input = input.get(..span.end).unwrap_or(input);
        Self {
            input,
            at: span.start + 1,
        }
    }

    /// Before the value that the span is.
    pub(super) fn at(input: &'a [u8], span: Span) -> Self {
        Self { input, at: span.start }
    }

    fn malformed<T>(&self, reason: &'static str) -> Result<T> {
        Err(JsonError { at: self.at, reason })
    }

    /// The next byte that is no white space; 0 at the end, which no JSON has.
    #[inline]
    pub(super) fn peek(&mut self) -> u8 {
        loop {
            match self.input.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                Some(byte) => return *byte,
                None => return 0,
            }
        }
    }

    /// The error unless nothing follows.
    pub(super) fn finish(&mut self) -> Result<()> {
        self.peek();
        if self.at >= self.input.len() {
            return Ok(());
        }
        self.malformed("bytes follow the value")
    }

    /// The name of the next field of the object that is open, with the lexer before its value; `None` at the end of the
    /// object. `is_first`: no field came before.
    #[inline]
    pub(super) fn next_name(&mut self, is_first: bool) -> Result<Option<Span>> {
        let mut byte = self.peek();
        if byte == b'}' {
            self.at += 1;
            return Ok(None);
        }
        if !is_first {
            if byte != b',' {
                return self.malformed("a comma or the end of the object is due");
            }
            self.at += 1;
            byte = self.peek();
        }
        if byte != b'"' && byte != b'\'' {
            return self.malformed("the name of a field is due");
        }
        let name = self.text(byte)?;
        if self.peek() != b':' {
            return self.malformed("a colon is due");
        }
        self.at += 1;
        Ok(Some(name))
    }

    /// Whether another element of the array that is open follows, with the lexer before it.
    #[inline]
    pub(super) fn next_element(&mut self, is_first: bool) -> Result<bool> {
        let byte = self.peek();
        if byte == b']' {
            self.at += 1;
            return Ok(false);
        }
        if is_first {
            return Ok(true);
        }
        if byte != b',' {
            return self.malformed("a comma or the end of the array is due");
        }
        self.at += 1;
        Ok(true)
    }

    /// Goes past the bracket or brace that opens a value.
    pub(super) fn open(&mut self) {
        self.at += 1;
    }

    /// The next value, whole, which is checked to its end. It stands inside of `depth` arrays and objects.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Result<Span> {
        match self.peek() {
            quote @ (b'"' | b'\'') => self.text(quote),
            b'{' | b'[' => self.nested(depth),
            _ => self.scalar(),
        }
    }

    /// A value that is neither text, array nor object.
    #[inline]
    fn scalar(&mut self) -> Result<Span> {
        let start = self.at;
        let kind = match self.input.get(start) {
            Some(b'0'..=b'9') => self.number(start)?,
            Some(b'-' | b'+' | b'N' | b'I') => self.signed_or_word(start)?,
            Some(b't') => self.word(b"true", TokenKind::True)?,
            Some(b'f') => self.word(b"false", TokenKind::False)?,
            Some(b'n') => self.word(b"null", TokenKind::Null)?,
            Some(_) => return self.malformed("a value is due"),
            None => return self.malformed("it ends too early"),
        };
        Ok(Span {
            kind,
            start,
            end: self.at,
        })
    }

    fn word(&mut self, word: &[u8], kind: TokenKind) -> Result<TokenKind> {
        let rest = self.input.get(self.at..).unwrap_or_default();
        let follows = rest.get(word.len()).copied().unwrap_or(b' ');
        if rest.starts_with(word) && !follows.is_ascii_alphanumeric() && follows != b'_' {
            self.at += word.len();
            return Ok(kind);
        }
        self.malformed("this is no word of JSON")
    }

    #[cold]
    fn signed_or_word(&mut self, start: usize) -> Result<TokenKind> {
        let sign = self.input.get(start).copied().unwrap_or_default();
        if sign == b'N' {
            return self.word(b"NaN", TokenKind::Float);
        }
        if sign == b'I' {
            return self.word(b"Infinity", TokenKind::Float);
        }
        self.at += 1;
        match self.input.get(self.at) {
            Some(b'0'..=b'9') if sign == b'-' => self.number(self.at),
            Some(b'I') if self.input.get(self.at + 1) == Some(&b'N') => self.word(b"INF", TokenKind::Float),
            Some(b'I') => self.word(b"Infinity", TokenKind::Float),
            _ => self.malformed("a digit is due"),
        }
    }

    /// Digits, fraction and exponent from `start` on, where a digit is.
    #[inline]
    fn number(&mut self, start: usize) -> Result<TokenKind> {
        self.digits();
        if self.input.get(start) == Some(&b'0') && self.at > start + 1 {
            return self.malformed("a number begins with 0");
        }
        let mut kind = TokenKind::Integer;
        if self.input.get(self.at) == Some(&b'.') {
            kind = TokenKind::Float;
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.input.get(self.at) {
            kind = TokenKind::Float;
            self.at += 1;
            if let Some(b'+' | b'-') = self.input.get(self.at) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(kind)
    }

    #[inline]
    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.input.get(self.at) {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<()> {
        let before = self.at;
        self.digits();
        if self.at == before {
            return self.malformed("a digit is due");
        }
        Ok(())
    }

    /// The text whose opening quote is next.
    #[inline]
    fn text(&mut self, quote: u8) -> Result<Span> {
        self.at += 1;
        let start = self.at;
        let mut kind = TokenKind::Plain;
        loop {
            self.at += plain_len(self.input.get(self.at..).unwrap_or_default(), quote);
            match self.input.get(self.at) {
                Some(byte) if *byte == quote => {
                    let end = self.at;
                    self.at += 1;
                    return Ok(Span { kind, start, end });
                }
                Some(b'\\') => {
                    kind = TokenKind::Escaped;
                    self.escape()?;
                }
                Some(_) => return self.malformed("a control character stands in a text"),
                None => return self.malformed("a text does not end"),
            }
        }
    }

    fn escape(&mut self) -> Result<()> {
        match self.input.get(self.at + 1) {
            Some(b'"' | b'\'' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u')
                if self
                    .input
                    .get(self.at + 2..self.at + 6)
                    .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
            {
                self.at += 6;
            }
            _ => return self.malformed("an escape is wrong"),
        }
        Ok(())
    }

    /// The array or object that is next, with all that it contains.
    fn nested(&mut self, depth: usize) -> Result<Span> {
        let start = self.at;
        let kind = if self.input.get(start) == Some(&b'{') {
            TokenKind::Object
        } else {
            TokenKind::Array
        };
        let mut objects = [0u64; DEPTH_WORDS];
        let mut open = 0;
        let mut in_object = kind == TokenKind::Object;
        let mut is_first = true;
        self.enter(&mut objects, &mut open, in_object, depth)?;
        loop {
            let goes_on = if in_object {
                self.next_name(is_first)?.is_some()
            } else {
                self.next_element(is_first)?
            };
            is_first = false;
            if goes_on {
                match self.peek() {
                    quote @ (b'"' | b'\'') => {
                        self.text(quote)?;
                    }
                    byte @ (b'{' | b'[') => {
                        in_object = byte == b'{';
                        is_first = true;
                        self.enter(&mut objects, &mut open, in_object, depth)?;
                    }
                    _ => {
                        self.scalar()?;
                    }
                }
                continue;
            }
            open -= 1;
            if open == 0 {
                let end = self.at;
                return Ok(Span { kind, start, end });
            }
            in_object = objects[(open - 1) / 64] >> ((open - 1) % 64) & 1 == 1;
        }
    }

    fn enter(
        &mut self,
        objects: &mut [u64; DEPTH_WORDS],
        open: &mut usize,
        is_object: bool,
        depth: usize,
    ) -> Result<()> {
        if depth + *open >= MAX_DEPTH {
            return self.malformed("it is nested more than 1000 deep");
        }
        let bit = 1u64 << (*open % 64);
        if is_object {
            objects[*open / 64] |= bit;
        } else {
            objects[*open / 64] &= !bit;
        }
        *open += 1;
        self.at += 1;
        Ok(())
    }
}

/// How many bytes there are before the first one that is the quote, a backslash or a control character. Eight bytes at
/// a time: of the marks of a word the lowest is exact, and only that one is used.
#[inline]
fn plain_len(bytes: &[u8], quote: u8) -> usize {
    let quotes = LOW_BITS * u64::from(quote);
    let mut len = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word);
        let is_quote = zero_bytes(word ^ quotes);
        let is_backslash = zero_bytes(word ^ (LOW_BITS * u64::from(b'\\')));
        let is_control = word.wrapping_sub(LOW_BITS * 0x20) & !word & HIGH_BITS;
        let marks = is_quote | is_backslash | is_control;
        if marks != 0 {
            return len + (marks.trailing_zeros() / 8) as usize;
        }
        len += 8;
    }
    let is_special = |byte: &u8| *byte == quote || *byte == b'\\' || *byte < 0x20;
    len + rest.iter().position(is_special).unwrap_or(rest.len())
}

/// Marks the zero bytes of a word; above the lowest of them there may be false marks.
#[inline]
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

#[cfg(test)]
#[path = "lexer_tests.rs"]
mod tests;
