import { fail, ok, type Result } from '../../../lib/util/result.ts'

/** Where an X server listens, from `DISPLAY`. */
export interface DisplayName {
  /** Null: through a socket file; else an address of this machine, as `ssh -X` gives it. */
  readonly host: string | null
  readonly number: number
  readonly screen: number
}

/** `:0`, `:99.0`, `unix:0`, `localhost:10.0`; what is wrong otherwise. */
export function parseDisplayName(text: string | undefined): Result<DisplayName, string> {
  if (text === undefined || text === '') return fail('DISPLAY is not set')
  const match = /^([^:/\s]{0,255}):(\d{1,5})(?:\.(\d{1,3}))?$/.exec(text)
  if (match === null) return fail(`DISPLAY ${JSON.stringify(text.slice(0, 100))} names no display`)
  const [, host = '', number = '', screen = '0'] = match
  // X servers listen on 6000 + number.
  if (Number(number) > 65_535 - 6000) return fail(`DISPLAY names display ${number}: out of range`)
  const ownSocket = host === '' || host === 'unix'
  // A picture, and the key of the display, would cross the network in the clear.
  if (!ownSocket && !/^(localhost|127(\.\d{1,3}){3})$/.test(host)) {
    return fail(`DISPLAY ${JSON.stringify(text)} is on another machine`)
  }
  return ok({
    host: ownSocket ? null : host,
    number: Number(number),
    screen: Number(screen),
  })
}
