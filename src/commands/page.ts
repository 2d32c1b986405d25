import * as Flags from '@oclif/core/flags'
import { BaseCommand } from '../lib/cli/base-command.ts'
import { hostEnvironment, instanceFlags } from './resources/endpoint-flags.ts'
import { spawn } from 'node:child_process'
import { processOutput, warningsTo } from '../lib/cli/output.ts'
import { unexpectedAnswer } from '../lib/mcp/client/failure.ts'
import { hostRequest } from '../lib/mcp/client/host-request.ts'
import { errnoOf, ServiceError } from '../lib/util/errors.ts'
import { findHost, type HostFlags } from './artefacts/host-target.ts'

export default class Page extends BaseCommand {
  static override summary = 'Print a link to the live page of a running server'
  static override description = `Prints a link that logs one browser in to the live page: what your AI \
can see, what changed, notes and files. It works once, for five minutes; the login lasts 12 hours, \
and no longer than the server. A browser that is logged in needs no new link.

${hostEnvironment}`
  static override examples = ['<%= config.bin %> page', '<%= config.bin %> page --open']

  static override flags = {
    open: Flags.boolean({ description: 'open the link in your browser instead of printing it' }),
    ...instanceFlags,
  }

  override async run(): Promise<void> {
    const { flags } = await this.parse(Page)
    await runPage(flags)
  }
}

/** A program that still runs then is the browser itself. */
const startMs = 3000

/** Prints a login link of the page, or opens it. */
async function runPage(flags: HostFlags & { open: boolean }): Promise<void> {
  const output = processOutput(flags)
  const target = await findHost(flags, warningsTo(output))
  const path = 'v1/page-login'
  const answer = await hostRequest(target, { method: 'POST', path })
  const { url: link, expires_in: expiresIn } = answer
  const parsed = typeof link === 'string' ? URL.parse(link) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol)) {
    throw unexpectedAnswer(target.url, path)
  }
  // As the parser writes it, with control characters escaped.
  const url = parsed.href
  if (!flags.open) return output.result(url, { url, expires_in: expiresIn })
  await openBrowser(url, process.platform)
  const shown = new URL('/', url).href
  await output.result(`opened ${shown}`, { opened: true, url: shown })
}

/** Opens the address in the browser of the user. Throws `config_invalid` when there is none. */
async function openBrowser(url: string, platform: NodeJS.Platform): Promise<void> {
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
function openerOf(platform: NodeJS.Platform): [string, ...string[]] {
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return ['xdg-open']
}

function cannotOpen(why: string): ServiceError {
  return new ServiceError('config_invalid', `no browser can be opened (${why})`, {
    hint: 'open the link of service-cli page, without --open',
  })
}
