"""Messages that are sent at a time: reminders, reviews, anything asked again and again."""
