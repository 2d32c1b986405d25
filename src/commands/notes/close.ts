import { noteAction } from './note-action.ts'

/** Closes a note. */
export default noteAction({
  action: 'close',
  summary: 'Close a note',
  description: 'Closes a note without accepting an answer.',
  example: { description: 'no longer needed', command: '<%= config.bin %> notes close 3' },
  text: 'the reason',
})
