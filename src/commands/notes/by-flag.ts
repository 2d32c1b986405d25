import * as Flags from '@oclif/core/flags'

export const byFlag = Flags.string({
  description: 'who says it; by default your user name',
  helpValue: 'NAME',
})
