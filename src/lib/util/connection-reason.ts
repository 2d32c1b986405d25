const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  ENOTFOUND: 'cannot resolve the host name',
  EAI_AGAIN: 'cannot resolve the host name now',
  EPROTO: 'the TLS handshake failed',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is signed by itself',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate comes from an unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate comes from an unknown authority',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  ERR_PROXY_TUNNEL: 'it refused the connection',
  HPE_INVALID_CONSTANT: 'it is not a web server',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

const certificate =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

/** True for the code of a TLS error, most of which are about the certificate. */
export function isTlsError(code: string): boolean {
  return certificate.test(code)
}

/** Why a connection failed, as a clause with the code of the error, or the code alone. */
export function connectionReason(code: string): string {
  const words =
    reasons[code] ??
    (code.startsWith('HPE_') ? 'its answer is not valid HTTP' : undefined) ??
    (isTlsError(code) ? 'its certificate is not trusted' : undefined)
  return words === undefined ? code : `${words} (${code})`
}

/** The same, with what helps against a certificate that is not trusted. */
export function connectionAdvice(code: string): string {
  const advice = isTlsError(code) ? '; NODE_EXTRA_CA_CERTS adds certificate authorities' : ''
  return connectionReason(code) + advice
}
