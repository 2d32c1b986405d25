import { processOutput, warningsTo } from '../../lib/cli/output.ts'
import { hostRequest } from '../../lib/mcp/client/host-request.ts'
import { ServiceError } from '../../lib/util/errors.ts'
import { findHost } from '../artefacts/host-target.ts'
import { type ClientFlags, readClientLimits } from '../resources/client.ts'
import { openBrowser } from './open-browser.ts'

/** Prints a login link of the page, or opens it. */
export async function runPage(
  flags: ClientFlags & { open: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const output = processOutput(flags)
  const { target } = await findHost(flags, env, warningsTo(output))
  const { url, expires_in: expiresIn } = await hostRequest(target, {
    ...{ method: 'POST', path: 'v1/page-login' },
    silenceMs: readClientLimits(env).answerMs,
    signal: new AbortController().signal,
  })
  if (typeof url !== 'string' || !URL.canParse(url) || !/^https?:/.test(url)) {
    throw new ServiceError('resource_failed', 'the answer has no link')
  }
  if (!flags.open) return output.result(url, { url, expires_in: expiresIn })
  await openBrowser(url, process.platform)
  const shown = new URL('/', url).href
  await output.result(`opened ${shown}`, { opened: true, url: shown })
}
