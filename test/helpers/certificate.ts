import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'

/** A self-signed certificate of P-256 and its key, in PEM. Node reads certificates, and makes none. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

interface PairOptions {
  /** Names and IPv4 addresses it is for. */
  readonly names?: readonly string[]
  readonly until?: Date
}

const hourMs = 60 * 60 * 1000

export function makePair(options: PairOptions = {}): Pair {
  const { names = ['localhost', '127.0.0.1'] } = options
  const from = new Date(Date.now() - hourMs)
  const { until = new Date(Date.now() + 24 * hourMs) } = options
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const name = sequence(set(sequence(oid(commonName), utf8(names[0] ?? ''))))
  const signed = sequence(
    tagged(0xa0, integer(Buffer.of(2))),
    integer(Buffer.concat([Buffer.of(1), randomBytes(8)])),
    sequence(oid(ecdsaWithSha256)),
    name,
    sequence(time(from), time(until)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternativeNames(names), isAuthority)),
  )
  const bits = Buffer.concat([Buffer.of(0), sign('sha256', signed, privateKey)])
  const der = sequence(signed, sequence(oid(ecdsaWithSha256)), tagged(0x03, bits))
  return { cert: pem('CERTIFICATE', der), key: pemOf(privateKey) }
}

/** Both as files of the folder, as `--tls-cert` and `--tls-key` take them. */
export async function writePair(
  folder: string,
  pair: Pair,
): Promise<{ certFile: string; keyFile: string }> {
  const certFile = join(folder, 'cert.pem')
  const keyFile = join(folder, 'key.pem')
  await writeFile(keyFile, pair.key, { mode: 0o600 })
  await writeFile(certFile, pair.cert)
  return { certFile, keyFile }
}

const commonName = '550403'
const ecdsaWithSha256 = '2a8648ce3d040302'

/** Clients take it for its own authority. */
const isAuthority = sequence(
  oid('551d13'),
  tagged(0x01, Buffer.of(0xff)),
  tagged(0x04, sequence(tagged(0x01, Buffer.of(0xff)))),
)

function alternativeNames(names: readonly string[]): Buffer {
  const each = names.map(name =>
    isIP(name) === 4
      ? tagged(0x87, Buffer.from(name.split('.').map(Number)))
      : tagged(0x82, Buffer.from(name)),
  )
  return sequence(oid('551d11'), tagged(0x04, sequence(...each)))
}

function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), body])
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 0xff), body])
}

function sequence(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x30, ...parts)
}

function set(...parts: readonly Uint8Array[]): Buffer {
  return tagged(0x31, ...parts)
}

function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

function utf8(text: string): Buffer {
  return tagged(0x0c, Buffer.from(text))
}

/** GeneralizedTime, which reaches beyond 2049. */
function time(date: Date): Buffer {
  const digits = date.toISOString().replace(/[-:T]|\.\d+/g, '')
  return tagged(0x18, Buffer.from(digits))
}

function pem(label: string, der: Buffer): string {
  const lines = der.toString('base64').replace(/.{64}/g, '$&\n').trimEnd()
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`
}

function pemOf(key: KeyObject): string {
  return String(key.export({ type: 'pkcs8', format: 'pem' }))
}
