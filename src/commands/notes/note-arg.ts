import * as Args from '@oclif/core/args'

/** The note that a command is about. */
export const noteArg = Args.string({
  description: 'number or id of the note',
  required: true,
  ignoreStdin: true,
})
