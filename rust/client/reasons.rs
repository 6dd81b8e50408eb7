//! Why a connection is of no use, as a clause of a sentence that names the broker.
//!
//! Never: shows a password, a token, or what a file holds.

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError, Error as TlsError};

pub(crate) const NOT_KAFKA: &str = "its answer is not Kafka's protocol";
pub(crate) const SPEAKS_TLS: &str = "it speaks TLS; set security.protocol to SSL or SASL_SSL";
pub(crate) const CLOSED: &str = "it closed the connection";

/// Whether asking again, or another server, fails in the same way.
pub fn is_final(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::InvalidData)
}

/// Whether the broker closed the connection before it let the client in: it is about to end, or its listener is one of
/// another `security.protocol`.
pub fn is_shut_out(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionAborted
}

/// The error of a connection on which the client is not in yet; `closed` is the clause when the broker has closed it.
pub(crate) fn shut_out(error: io::Error, closed: &str) -> io::Error {
    if is_closed(&error) {
        return io::Error::new(ErrorKind::ConnectionAborted, closed);
    }
    error
}

/// Whether the other end closed the connection.
pub(crate) fn is_closed(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted
    )
}

/// A clause on what happened to a connection.
pub fn reason_of(error: &io::Error) -> String {
    if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<TlsError>()) {
        return reason_of_tls(tls);
    }
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => "no answer in time".to_owned(),
        ErrorKind::UnexpectedEof => CLOSED.to_owned(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or_default().to_owned()
        }
    }
}

/// Whether rustls refuses a certificate for its version; it has no value for that.
pub fn is_of_version_1(error: &TlsError) -> bool {
    let TlsError::InvalidCertificate(CertificateError::Other(other)) = error else {
        return false;
    };
    format!("{other:?}").contains("UnsupportedCertVersion")
}

fn reason_of_tls(error: &TlsError) -> String {
    let clause = match error {
        TlsError::InvalidCertificate(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
            "its certificate has expired"
        }
        TlsError::InvalidCertificate(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
            "its certificate is not valid yet"
        }
        TlsError::InvalidCertificate(CertificateError::Revoked) => "its certificate is revoked",
        TlsError::InvalidCertificate(CertificateError::UnknownIssuer) => {
            "no authority of ssl.truststore has signed its certificate"
        }
        TlsError::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "its certificate has not this name; connect by a name that it has, or issue another one",
        TlsError::InvalidCertificate(CertificateError::BadSignature) => {
            "an authority of the same name has signed its certificate with another key; give the one that it has been \
             signed by to ssl.truststore"
        }
        old if is_of_version_1(old) => "its certificate is of version 1 of X.509; issue one of version 3",
        TlsError::InvalidCertificate(other) => return format!("its certificate is not taken: {other}"),
        TlsError::InvalidMessage(_) => "it does not speak TLS; set security.protocol to PLAINTEXT or SASL_PLAINTEXT",
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "it wants a certificate of the client; give ssl.keystore.location"
        }
        TlsError::AlertReceived(AlertDescription::CertificateExpired) => "the client's certificate has expired",
        TlsError::AlertReceived(AlertDescription::CertificateRevoked) => "the client's certificate is revoked",
        TlsError::AlertReceived(
            AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError
            | AlertDescription::UnsupportedCertificate,
        ) => "it does not take the client's certificate; see ssl.keystore.location",
        TlsError::AlertReceived(AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure) => {
            "it has no version of TLS or no cipher in common with this client; see ssl.enabled.protocols"
        }
        other => return format!("TLS: {other}"),
    };
    clause.to_owned()
}
