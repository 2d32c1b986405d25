import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'

/** The note that a command is about. */
export const noteArg = Args.string({
  description: 'number or id of the note',
  required: true,
  ignoreStdin: true,
})

export const byFlag = Flags.string({
  description: 'author [default: your user name]',
  helpValue: 'NAME',
})
