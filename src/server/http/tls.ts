import { unwatchFile, watchFile } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import { readBounded } from '../../lib/util/bytes.ts'
import { messageOf, readProblem, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { TlsFiles } from './listen-options.ts'

const maxFileBytes = 1024 * 1024
/** The files are checked for changes this often. */
const pollMs = 1000

/** A certificate with the key that belongs to it, for `node:tls`. */
export interface TlsPair {
  readonly cert: Buffer
  readonly key: Buffer
}

/** Warns of a key that others can read. Throws `config_invalid`. */
export async function readPair(files: TlsFiles, log: Logger): Promise<TlsPair> {
  const { certFile, keyFile } = files
  const cert = await readPem('--tls-cert', certFile)
  const key = await readPem('--tls-key', keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw unusable(`--tls-cert ${certFile} with --tls-key ${keyFile}: ${messageOf(error)}`)
  }
  const { mode } = await stat(keyFile)
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) {
    const shown = (mode & 0o777).toString(8).padStart(4, '0')
    log.warn({ file: keyFile, mode: shown }, 'other accounts can get at the key of the certificate')
  }
  return { cert, key }
}

/**
 * Uses a renewed pair for connections made from then on. As long as the files are no pair
 * (half-written, one of the two replaced) the old one stays. Returns the stop.
 */
export function followPair(files: TlsFiles, server: Server, log: Logger): () => void {
  const reload = async () => {
    try {
      server.setSecureContext(await readPair(files, log))
      log.info({ file: files.certFile }, 'the certificate was replaced')
    } catch (error) {
      log.error({ reason: messageOf(error) }, 'the old certificate stays in use')
    }
  }
  const changed = () => void reload()
  const paths = [files.certFile, files.keyFile]
  for (const path of paths) watchFile(path, { interval: pollMs, persistent: false }, changed)
  return () => paths.forEach(path => unwatchFile(path, changed))
}

async function readPem(flag: string, path: string): Promise<Buffer> {
  const found = await readBounded(path, maxFileBytes).catch((error: unknown) => {
    throw unusable(`${flag} ${path} cannot be read: ${readProblem(error)}`)
  })
  if (!found.ok) throw unusable(`${flag} ${path} cannot be used: ${found.failure}`)
  return found.value
}

function unusable(problem: string): ServiceError {
  const hint = 'name a certificate and its key in PEM, the key without a pass phrase'
  return new ServiceError('config_invalid', problem, { hint })
}
