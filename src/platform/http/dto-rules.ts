import { applyDecorators } from '@nestjs/common';
import { IsString, registerDecorator, ValidateIf } from 'class-validator';

/** C0 and C1 controls, line and paragraph separators: they let a name imitate other text. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;
/** Lone surrogates cannot be stored as UTF-8. */
const LONE_SURROGATE = /\p{Cs}/u;

/** One line of text of `min` to `max` code points, not only spaces when `min` is above 0. */
export function isLine(value: unknown, min: number, max: number): boolean {
  if (typeof value !== 'string' || value.length > max * 2 || CONTROL.test(value) || LONE_SURROGATE.test(value)) {
    return false;
  }
  const length = [...value].length;
  return length >= min && length <= max && (min === 0 || value.trim() !== '');
}

function rule(name: string, validate: (value: unknown) => boolean, message: string): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      validator: { validate, defaultMessage: () => message },
    });
}

/** As `isLine`: for names, titles and whatever else is shown in one line. */
export function IsLine(min: number, max: number): PropertyDecorator {
  const message = `must be one line of ${min} to ${max} characters without control characters`;
  return applyDecorators(
    IsString(),
    rule('isLine', (value) => isLine(value, min, max), message),
  );
}

/** Absent is fine; null is not (unlike `IsOptional`). */
export const IfGiven = (): PropertyDecorator => ValidateIf((_object, value) => value !== undefined);

/** Refuses the field when `other` is given, too. */
export function NotBesides(other: string): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name: 'notBesides',
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (_value, args) => (args?.object as Record<string, unknown> | undefined)?.[other] === undefined,
        defaultMessage: () => `cannot be given together with ${other}`,
      },
    });
}
