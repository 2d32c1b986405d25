import { createPrivateKey, X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { readProblem } from '../../lib/util/errors.ts'
import { readBounded } from '../../lib/util/bytes.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { Limits } from '../../lib/config/limits.ts'
import type { TlsFiles } from './listen-options.ts'

/** A certificate with the key that belongs to it. */
export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
  /** Of the server itself. */
  readonly leaf: X509Certificate
}

/** Why files are no pair. */
interface PairProblem {
  /** Names the flag and the file. */
  readonly message: string
  readonly hint: string
}

type PairLimits = Pick<Limits, 'maxTlsFileBytes'>

/** Both files, which belong together and make a server. Never rejects. */
export async function readPair(
  { certFile, keyFile }: TlsFiles,
  { maxTlsFileBytes }: PairLimits,
): Promise<Result<TlsPair, PairProblem>> {
  const cert = await readPem('--tls-cert', certFile, maxTlsFileBytes)
  if (!cert.ok) return cert
  const key = await readPem('--tls-key', keyFile, maxTlsFileBytes)
  if (!key.ok) return key
  const leaf = parseLeaf(cert.value)
  if (leaf === null) {
    return problem(`--tls-cert ${certFile} holds no certificate in PEM`, isPem('CERTIFICATE'))
  }
  try {
    // The library keeps a key of each kind: it would accept one of another kind, which no client
    // can use.
    if (!leaf.checkPrivateKey(createPrivateKey(key.value))) {
      return fail(strangeKey(certFile, keyFile))
    }
    createSecureContext({ cert: cert.value, key: key.value })
  } catch (error) {
    return fail(describeKey(error, certFile, keyFile))
  }
  return ok({ cert: cert.value, key: key.value, leaf })
}

/** Accounts beside the owner may read the key; null where that is not so, or cannot be told. */
export async function openToOthers(keyFile: string): Promise<string | null> {
  if (process.platform === 'win32') return null
  const found = await stat(keyFile).catch(() => null)
  if (found === null || (found.mode & 0o077) === 0) return null
  return (found.mode & 0o777).toString(8).padStart(4, '0')
}

async function readPem(
  flag: string,
  path: string,
  maxBytes: number,
): Promise<Result<Buffer, PairProblem>> {
  const hint = 'name a file in PEM that this account may read'
  try {
    const found = await readBounded(path, maxBytes)
    return found.ok ? found : problem(`${flag} ${path} cannot be used: ${found.failure}`, hint)
  } catch (error) {
    return problem(`${flag} ${path} cannot be read: ${readProblem(error)}`, hint)
  }
}

function parseLeaf(pem: Buffer): X509Certificate | null {
  try {
    return new X509Certificate(pem)
  } catch {
    return null
  }
}

function strangeKey(certFile: string, keyFile: string): PairProblem {
  const message = `--tls-key ${keyFile} is not the key of --tls-cert ${certFile}`
  return { message, hint: 'name the key that belongs to this certificate' }
}

/** The library's own words are about its inside. */
function describeKey(error: unknown, certFile: string, keyFile: string): PairProblem {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  if (/PASSPHRASE|PASSWORD|INTERRUPTED_OR_CANCELLED|BAD_DECRYPT/.test(code)) {
    const hint = 'store it without a pass phrase, readable by this account alone'
    return { message: `--tls-key ${keyFile} is encrypted`, hint }
  }
  const message = `--tls-cert ${certFile} with --tls-key ${keyFile} makes no server (${code})`
  return { message, hint: isPem('PRIVATE KEY') }
}

function isPem(label: string): string {
  return `write it in PEM: its first line is -----BEGIN ${label}-----`
}

function problem(message: string, hint: string): Result<never, PairProblem> {
  return fail({ message, hint })
}
