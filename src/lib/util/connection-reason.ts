import { systemMessages } from './errors.ts'

const reasons: Readonly<Record<string, string>> = {
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ENOTFOUND: 'cannot resolve the host name',
  EAI_AGAIN: 'cannot resolve the host name now',
  ERR_PROXY_TUNNEL: 'it made no connection',
  HPE_INVALID_CONSTANT: 'it is not a web server',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too long',
}

const tlsCode =
  /^(CERT_|ERR_TLS_|ERR_SSL_|ERR_OSSL|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

/** True for the code of a TLS error, most of which are about the certificate. */
export function isTlsError(code: string): boolean {
  return tlsCode.test(code)
}

/** Why a connection failed, as a clause with the code of the error, or the code alone. */
export function connectionReason(code: string): string {
  const words =
    reasons[code] ??
    (code.startsWith('HPE_') ? 'its answer is not valid HTTP' : undefined) ??
    (isTlsError(code) ? 'TLS failed' : undefined) ??
    systemMessages.get(code)
  return words === undefined ? code : `${words} (${code})`
}
