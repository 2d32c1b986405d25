import { noteAction } from './note-action.ts'

export default noteAction({
  action: 'answer',
  summary: 'Answer a note',
  description: `Answers a note of the document that is open in the application. The person \
who made it accepts the answer or reopens the note.`,
  example: '<%= config.bin %> notes answer 3 "The lamp is dimmed to 40 W"',
  text: 'what was done, or a question',
  isTextRequired: true,
})
