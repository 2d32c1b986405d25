import * as Flags from '@oclif/core/flags'

/** Flags of every command; they may also stand before it (`service-cli --json serve`). */
export const globalFlags = {
  json: Flags.boolean({
    description: 'print results and errors as JSON lines on stdout',
    helpGroup: 'GLOBAL',
  }),
  quiet: Flags.boolean({
    char: 'q',
    description: 'leave out everything but results and what is wrong',
    helpGroup: 'GLOBAL',
  }),
}
