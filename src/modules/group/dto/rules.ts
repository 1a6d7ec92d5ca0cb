import { registerDecorator } from 'class-validator';
import { isDecimalId } from '../../../platform/ids/ids.js';

/** Controls other than line feed and tab, and lone surrogates: they imitate other text or cannot be stored. */
const UNUSABLE_BUT_LINES = /[^\P{Cc}\n\t]|\p{Cs}/u;
const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,3})?Z$/;

function rule(name: string, message: string, validate: (value: unknown) => boolean): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      validator: { validate, defaultMessage: () => message },
    });
}

/** Text of at most `max` code points that may have lines. */
export const IsText = (max: number): PropertyDecorator =>
  rule(
    'isText',
    `must be text of at most ${max} characters`,
    (value) => typeof value === 'string' && !UNUSABLE_BUT_LINES.test(value) && [...value].length <= max,
  );

/** Not only spaces. */
export const IsFilled = (): PropertyDecorator =>
  rule('isFilled', 'must not be empty', (value) => typeof value === 'string' && value.trim() !== '');

export const IsId = (): PropertyDecorator => rule('isId', 'must be a decimal id, as a string', isDecimalId);

export const EachIsId = (): PropertyDecorator =>
  rule('eachIsId', 'must be decimal ids, as strings', (value) => Array.isArray(value) && value.every(isDecimalId));

/** `null`, or a time as the protocol writes it, before the year 9999. */
export const IsTimeOrNull = (): PropertyDecorator =>
  rule('isTimeOrNull', 'must be an ISO 8601 UTC time such as 2026-01-31T12:00:00.000Z, or null', (value) => {
    if (value === null) return true;
    if (typeof value !== 'string' || !ISO_UTC.test(value)) return false;
    const time = new Date(value);
    // Date takes the 31st of February for a day in March.
    return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 10) === value.slice(0, 10) && value > '1971';
  });
