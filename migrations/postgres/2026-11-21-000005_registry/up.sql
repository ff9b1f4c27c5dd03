-- Who waits for a teacher reference number, and for the confirmation of an award, longest first.
CREATE INDEX trainees_awaiting_trn ON trainees (submitted_for_trn_at, id)
    WHERE trn IS NULL AND discarded_at IS NULL;
CREATE INDEX trainees_awaiting_award ON trainees (recommended_for_award_at, id)
    WHERE awarded_at IS NULL AND discarded_at IS NULL AND recommended_for_award_at IS NOT NULL;

-- Not unique: a person has one number on all records, of several courses or with several providers.
CREATE INDEX trainees_by_trn ON trainees (trn) WHERE trn IS NOT NULL;
