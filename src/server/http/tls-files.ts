/** Where the certificate of a server lies. */
export interface TlsFiles {
  /** PEM: the certificate of the server first, then those between it and its authority. */
  readonly certFile: string
  /** PEM, not encrypted. */
  readonly keyFile: string
}
