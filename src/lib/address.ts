import { isIP } from 'node:net'

/** Does only this machine reach `host`? Names but `localhost` are not looked up: false. */
export function isLoopback(host: string): boolean {
  const plain = host.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '')
  if (isIP(plain) === 4) return plain.startsWith('127.')
  return plain === 'localhost' || plain === '::1'
}

/** Does a server bound to `host` listen on every address of the machine? */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}

/** The address of a server bound to `host`, for a client on the same machine. */
export function localBase(host: string, port: number): string {
  if (isWildcard(host)) return `http://127.0.0.1:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
