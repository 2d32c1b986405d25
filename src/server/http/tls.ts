import { unwatchFile, watchFile } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import { messageOf, readProblem, ServiceError } from '../../lib/util/errors.ts'
import type { Logger } from '../../lib/util/logger.ts'
import type { TlsFiles } from './listen-options.ts'

/** The files are checked for changes this often. */
const pollMs = 1000

/** A certificate with the key that belongs to it, for `node:tls`. Throws `config_invalid`. */
export async function readPair({ certFile, keyFile }: TlsFiles) {
  const cert = await readPem('--tls-cert', certFile)
  const key = await readPem('--tls-key', keyFile)
  try {
    createSecureContext({ cert, key })
  } catch (error) {
    throw unusable(`--tls-cert ${certFile} with --tls-key ${keyFile}: ${messageOf(error)}`)
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
      server.setSecureContext(await readPair(files))
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
  return readFile(path).catch((error: unknown) => {
    throw unusable(`${flag} ${path} cannot be read: ${readProblem(error)}`)
  })
}

function unusable(problem: string): ServiceError {
  const hint = 'name a certificate and its key in PEM, the key without a pass phrase'
  return new ServiceError('config_invalid', problem, { hint })
}
