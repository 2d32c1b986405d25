/** There is no server, or none any more. The message says why in one clause. */
export class Unreachable extends Error {
  override readonly name: string = 'Unreachable'
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  EPIPE: 'the connection was cut',
  ETIMEDOUT: 'no connection came about in time',
  EHOSTUNREACH: 'there is no way to that machine',
  ENETUNREACH: 'there is no way to that network',
  HPE_INVALID_CONSTANT: 'what answers there is no web server',
  HPE_HEADER_OVERFLOW: 'the head of the answer is too long',
}

const certificate =
  /^(CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|EPROTO$)/

/** Words for an error of a connection; nothing of its objects, which hold the request with its key. */
export function describeSocketError(error: NodeJS.ErrnoException, { hostname }: URL): string {
  const code = /^\w{1,64}$/.test(error.code ?? '') ? String(error.code) : 'unknown error'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `no address is known for ${hostname}`
  if (certificate.test(code)) {
    return `its certificate is not accepted (${code}); NODE_EXTRA_CA_CERTS names further authorities`
  }
  if (code.startsWith('HPE_') && !(code in reasons)) return `its answer is no valid HTTP (${code})`
  return reasons[code] ?? code
}
