import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import tls from 'node:tls'
import { atEnd } from './cleanup.ts'

/** A self-signed certificate of P-256 and its key, in PEM. Node reads certificates, and makes none. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

interface PairOptions {
  /** Names and IPv4 addresses it is for. */
  readonly names?: readonly string[]
}

const hourMs = 60 * 60 * 1000

export function makePair({ names = ['localhost', '127.0.0.1'] }: PairOptions = {}): Pair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const text = tagged(0x0c, Buffer.from(names[0] ?? ''))
  const name = sequence(tagged(0x31, sequence(oid(commonName), text)))
  const signed = sequence(
    tagged(0xa0, tagged(0x02, Buffer.of(2))),
    tagged(0x02, Buffer.of(1), randomBytes(8)),
    sequence(oid(ecdsaWithSha256)),
    name,
    sequence(time(Date.now() - hourMs), time(Date.now() + 24 * hourMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(alternativeNames(names), isAuthority)),
  )
  const signature = tagged(0x03, Buffer.of(0), sign('sha256', signed, privateKey))
  const der = sequence(signed, sequence(oid(ecdsaWithSha256)), signature).toString('base64')
  const lines = der.replace(/.{64}/g, '$&\n').trimEnd()
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  }
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

/** Lets the clients of this process take the certificate for an authority, until the end. */
export function trust({ cert }: Pair): void {
  const trusted = tls.getCACertificates('default')
  tls.setDefaultCACertificates([...trusted, cert])
  atEnd(() => tls.setDefaultCACertificates(trusted))
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

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, 'hex'))
}

/** GeneralizedTime, which reaches beyond 2049. */
function time(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/[-:T]|\.\d+/g, '')
  return tagged(0x18, Buffer.from(digits))
}
