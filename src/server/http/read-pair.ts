import { createPrivateKey, X509Certificate } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { messageOf, readProblem } from '../../lib/util/errors.ts'
import { readBounded } from '../../lib/util/bytes.ts'
import { type Result, fail, ok } from '../../lib/util/result.ts'
import type { TlsFiles } from './listen-options.ts'

/** Bytes of the file of the certificate, and of the key. */
const maxTlsFileBytes = 1024 * 1024

/** A certificate with the key that belongs to it. */
export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
  /** Of the server itself. */
  readonly leaf: X509Certificate
}

/** Both files, which belong together and make a server, or why they do not. Never rejects. */
export async function readPair({ certFile, keyFile }: TlsFiles): Promise<Result<TlsPair, string>> {
  const cert = await readPem('--tls-cert', certFile, maxTlsFileBytes)
  if (!cert.ok) return cert
  const key = await readPem('--tls-key', keyFile, maxTlsFileBytes)
  if (!key.ok) return key
  try {
    const leaf = new X509Certificate(cert.value)
    // The library keeps a key of each kind: it would accept one of another kind, which no client
    // can use.
    if (!leaf.checkPrivateKey(createPrivateKey(key.value))) {
      return fail(`--tls-key ${keyFile} is not the key of --tls-cert ${certFile}`)
    }
    createSecureContext({ cert: cert.value, key: key.value })
    return ok({ cert: cert.value, key: key.value, leaf })
  } catch (error) {
    return fail(`--tls-cert ${certFile} with --tls-key ${keyFile}: ${messageOf(error)}`)
  }
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
): Promise<Result<Buffer, string>> {
  try {
    const found = await readBounded(path, maxBytes)
    return found.ok ? found : fail(`${flag} ${path} cannot be used: ${found.failure}`)
  } catch (error) {
    return fail(`${flag} ${path} cannot be read: ${readProblem(error)}`)
  }
}
