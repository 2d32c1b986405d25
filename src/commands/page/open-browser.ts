import { spawn } from 'node:child_process'
import { errnoOf, ServiceError } from '../../lib/util/errors.ts'

/** A program that still runs then is the browser itself. */
const startMs = 3000

/** Opens the address in the browser of the user. Throws `config_invalid` when there is none. */
export async function openBrowser(url: string, platform: NodeJS.Platform): Promise<void> {
  const [program, ...args] = openerOf(platform)
  const child = spawn(program, [...args, url], { stdio: 'ignore', detached: true })
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, startMs)
  child.once('error', error => reject(cannotOpen(`${program}: ${errnoOf(error) ?? 'failed'}`)))
  child.once('exit', code => {
    if (code === 0) resolve()
    else reject(cannotOpen(`${program} ended with ${code ?? 'a signal'}`))
  })
  try {
    await promise
  } finally {
    clearTimeout(timer)
    child.unref()
  }
}

/** The program that opens an address, without a shell that would read it. */
export function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return ['xdg-open']
}

function cannotOpen(why: string): ServiceError {
  return new ServiceError('config_invalid', `no browser can be opened (${why})`, {
    hint: 'open the link of service-cli page, without --open',
  })
}
